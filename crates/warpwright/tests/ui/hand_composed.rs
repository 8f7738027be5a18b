use warpwright::kernels::Direct;
use warpwright::*;

type Loop = Mainloop<
    Sm80,
    (f16, f16, f32, RowMajor, ColumnMajor),
    Direct<Tma, Wgmma>,
    (Tile<128, 128, 64>, Cluster<1, 1>, U3, Multistage),
>;
type Hand = GemmUniversal<Loop, Epilogue<Acc, f16, RowMajor>, SingleTile>;
const _: () = Hand::LEGAL;

fn main() {}
