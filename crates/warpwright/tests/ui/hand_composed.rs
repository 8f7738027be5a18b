use warpwright::*;

type Io = Operands;
type P = Plan<Tile<128, 128, 64>, Cluster<1, 1>, Multistage>;
type Loop = Mainloop<Sm80, f16, f16, f32, Wgmma, Tma, Identity, NoScales, Io, P>;
type Hand = GemmUniversal<Loop, Epilogue<Acc, f16, RowMajor>, SingleTile>;
const _: () = Hand::LEGAL;

fn main() {}
