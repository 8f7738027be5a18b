use warpwright::prelude::*;

type Ffn = Composed<Sm90, f16, f32, Operands, Plan<Tile<96, 128, 64>>>;
const _: () = Ffn::LEGAL;

fn main() {}
