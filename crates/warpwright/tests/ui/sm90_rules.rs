use warpwright::prelude::*;

type Kernel<A, P, Acc = f32, D = Auto> = Composed<Sm90, A, Acc, Operands<Auto, D>, P>;

const _: () = Kernel::<bf16, Plan<Tile<96, 128, 64>>>::LEGAL;
const _: () = Kernel::<bf16, Plan<Tile<128, 264, 64>>>::LEGAL;
const _: () = Kernel::<i8, Plan<Tile<128, 40, 128>>, i32>::LEGAL;
const _: () = Kernel::<bf16, Plan<Tile<128, 128, 24>>>::LEGAL;
const _: () = Kernel::<bf16, Plan<Tile<64, 128, 64>, Auto, Cooperative>>::LEGAL;
const _: () = Kernel::<bf16, Plan<Tile<128, 256, 64>, Auto, Pingpong>>::LEGAL;
const _: () = Kernel::<bf16, Plan<Tile<192, 232, 64>, Auto, Cooperative>>::LEGAL;
const _: () = Kernel::<bf16, Plan<Auto, Cluster<3, 1>>>::LEGAL;
const _: () = Kernel::<bf16, Plan<Auto, Cluster<8, 4>>>::LEGAL;
const _: () = Kernel::<bf16, Plan<Auto, Cluster<2, 1>, Multistage>>::LEGAL;
const _: () = Kernel::<bf16, Plan<Auto, Shape<U1, U1, U2>, Pingpong>>::LEGAL;
const _: () = Kernel::<bf16, Plan<Auto, Auto, Cooperative, U17>>::LEGAL;
const _: () = Kernel::<bf16, Plan<Tile<128, 256, 64>, Auto, Cooperative, U5>>::LEGAL;
const _: () = Kernel::<bf16, Plan<Tile<256, 192, 64>, Auto, Cooperative, U4, Auto, Auto, Auto, Separate>, f32, f32>::LEGAL;
const _: () = Kernel::<bf16, Plan<Auto, Auto, Pingpong, Auto, Auto, Auto, Auto, Reused>>::LEGAL;
const _: () = Kernel::<bf16, Plan<Auto, Auto, Auto, Auto, Auto, FastAccum>>::LEGAL;
const _: () = Kernel::<e4m3, Plan<Tile<128, 128, 64>>>::LEGAL;
const _: () = Kernel::<e4m3, Plan<Tile<128, 128, 128>, Auto, Auto, Auto, Auto, Auto, FromRegisters>>::LEGAL;
const _: () = Composed::<Sm80, bf16, f32, Operands, Plan<Auto, Cluster<2, 1>>>::LEGAL;
const _: () = Composed::<Sm100, bf16, f32, Operands, Plan<Auto, Auto, Auto, Auto, Auto, Auto, FromRegisters>>::LEGAL;

type U17 = U<17>;

fn main() {}
