//! Tensors, algorithms and tiled atoms on the host.

use generic_array::typenum::{U4, U8, U16, U32};
use warpwright_layout::atom::{CopyAtom, MmaAtom};
use warpwright_layout::smem::{Major, SmemSwizzle, atom};
use warpwright_layout::tensor::{
    MemorySpace, Pointer, Tagged, Tensor, TensorError, axpby, clear, copy, copy_if, fill, gemm, gmem, rmem, smem,
};
use warpwright_layout::{
    ComposedLayout, Coord, Fragment, Int, IntTuple, Layout, LayoutError, Operand, Side, TiledCopy, TiledMma, Tiler,
    int_tuple, layout,
};

#[test]
fn a_tensor_is_a_view() {
    let mut data = [0i32; 12];
    {
        let mut t = Tensor::new(gmem(&mut data[..]), layout!((3, 4):(4, 1))).unwrap();
        t.set(&[1, 2], 7).unwrap();
        let mut row = t.as_mut().slice(&Coord::ByMode(&[Coord::At(2), Coord::All])).unwrap();
        assert_eq!((row.size(), row.space()), (4, MemorySpace::Global));
        fill(&mut row, 5).unwrap();
        assert_eq!(t.get(&[1, 2]), Some(7));
        assert_eq!(t.set(&[9, 9], 1), None);
    }
    assert_eq!(data, [0, 0, 0, 0, 0, 0, 7, 0, 5, 5, 5, 5]);
    // Both views see what either writes.
    let column = Tensor::new(&data[..], layout!((4, 3))).unwrap();
    assert_eq!((column.get(&[2, 1]), column.iter().sum::<i32>()), (Some(7), 27));
}

#[test]
fn what_reaches_beyond_is_refused() {
    let data = [0u8; 31];
    let bounds = |offset| Err(TensorError::Bounds { offset, len: 31 });
    assert_eq!(Tensor::new(&data[..], layout!((4, 8))).map(|t| t.size()), bounds(31));
    let negative: Layout = "(_4):(_-1)".parse().unwrap();
    assert_eq!(Tensor::new(&data[..], negative).map(|t| t.size()), bounds(-3));
    // A swizzle reaches where its layout does not.
    let swizzled: ComposedLayout = "Sw<2,0,2> o _0 o (_14):(_1)".parse().unwrap();
    assert!(Tensor::new(&data[..14], swizzled).is_err() && Tensor::new(&data[..16], swizzled).is_ok());
    // A ragged divide is a tensor; its missing elements are refused when they are read.
    let t = Tensor::new(&data[..], layout!(31)).unwrap().zipped_divide(&Tiler::of(8)).unwrap();
    assert_eq!(
        (t.get(&[6, 3]), t.get(&[7, 3]), t.read(31)),
        (Some(0), None, Err(TensorError::Bounds { offset: 31, len: 31 }))
    );
    let mut out = [1u8; 32];
    let mut to = Tensor::new(&mut out[..], layout!((8, 4))).unwrap();
    assert!(copy(&t, &mut to).is_err());
    copy_if(|i| i < 31, &t, &mut to).unwrap();
    assert_eq!(out.iter().sum::<u8>(), 1);
}

#[test]
fn a_pointer_to_elsewhere_is_tiled_without_being_read() {
    let matrix = Tensor::new(gmem(Pointer::<f32>::new(0x7f00_0000_0000, 128 * 64)), layout!((128, 64))).unwrap();
    let copy = TiledCopy::new(CopyAtom::universal(128).unwrap(), 32, &layout!((32, 8)), &layout!((4, 1))).unwrap();
    let part = matrix.part(|l| copy.partition(Side::Source, l, 65)).unwrap();
    assert_eq!(part.to_string(), "gmem_ptr[32b](+260) o ((_4,_1),_1,_8):((_1,_0),_0,_1024)");
    let pointer = Pointer::<f32>::new(0x1000, 4);
    assert_eq!((pointer.address(), pointer.address_of(3)), (0x1000, Some(0x100c)));
    let held = [1.0f32, 2.0, 3.0, 4.0];
    let pointer = Pointer::<f32>::new(held.as_ptr() as u64, held.len());
    // SAFETY: the address is that of an array of four f32 that lives and is not written during the view.
    let view = Tensor::new(gmem(unsafe { pointer.as_slice() }), layout!((2, 2):(2, 1))).unwrap();
    assert_eq!(view.iter().collect::<Vec<_>>(), [1.0, 3.0, 2.0, 4.0]);
}

#[test]
fn algorithms() {
    let a: Vec<f32> = (0..24).map(|i| (i % 7) as f32 - 3.0).collect();
    let b: Vec<f32> = (0..32).map(|i| (i % 5) as f32 - 2.0).collect();
    let (ta, tb) =
        (Tensor::new(&a[..], layout!((3, 8):(8, 1))).unwrap(), Tensor::new(&b[..], layout!((4, 8))).unwrap());
    let mut c = [f64::NAN; 12];
    let mut tc = Tensor::new(&mut c[..], layout!((3, 4):(4, 1))).unwrap();
    clear(&mut tc).unwrap();
    gemm(&ta, &tb, &mut tc).unwrap();
    for m in 0..3 {
        for n in 0..4 {
            let expected: f64 = (0..8).map(|k| f64::from(a[8 * m + k]) * f64::from(b[n + 4 * k])).sum();
            assert_eq!(tc.get(&[m as i64, n as i64]), Some(expected));
        }
    }
    // beta 0 does not read: NaNs vanish.
    let mut y = [f64::NAN; 12];
    let mut ty = Tensor::new(&mut y[..], layout!((3, 4))).unwrap();
    axpby(2.0, &tc, 0.0, &mut ty).unwrap();
    axpby(1.0, &tc, 0.5, &mut ty).unwrap();
    assert!((0..12).all(|i| ty.read(i) == tc.read(i).map(|v| 2.0 * v)));
    // The outer product of vectors.
    let mut o = [0.0f64; 12];
    let (u, v) = (Tensor::new(&a[..3], layout!(3)).unwrap(), Tensor::new(&b[..4], layout!(4)).unwrap());
    gemm(&u, &v, &mut Tensor::new(&mut o[..], layout!((3, 4))).unwrap()).unwrap();
    assert_eq!(o[2 + 3 * 3], f64::from(a[2]) * f64::from(b[3]));
    let sizes = |operation, left, right| Err(TensorError::Sizes { operation, left, right });
    assert_eq!(gemm(&ta, &Tensor::new(&b[..], layout!((8, 4))).unwrap(), &mut tc), sizes("gemm, in k", 8, 4));
    let mut short = [0f32; 12];
    assert_eq!(copy(&ta, &mut Tensor::new(&mut short[..], layout!(12)).unwrap()), sizes("copy", 24, 12));
}

/// ldmatrix through a swizzled tile gives each thread the operand that its MMA wants, and the warps' multiplications are
/// the product: the SM80 kernel, on the host.
#[test]
fn a_block_multiplies_from_swizzled_tiles() {
    let mma = TiledMma::new(MmaAtom::mma_sync(16, 16, [32, 16, 16, 32]).unwrap(), &layout!((2, 2, 1)))
        .unwrap()
        .with_permutation(1, &layout!((8, 2, 2):(1, 16, 8)))
        .unwrap();
    let shape = int_tuple!((64, 64));
    let tile = atom(Major::K, SmemSwizzle::B128, 16).unwrap().tile_to_shape(&shape, None).unwrap();
    let value = |i: i64, j: i64, s: i64| ((i * 31 + j * 17 + s) % 11 - 5) as i16;
    let filled = |s| {
        let mut buffer = vec![0i16; 64 * 64];
        let global: Vec<i16> = (0..64 * 64).map(|i| value(i / 64, i % 64, s)).collect();
        // 128 threads, 16 bytes each, eight a row.
        let g2s =
            TiledCopy::new(CopyAtom::cp_async(16).unwrap(), 16, &layout!((16, 8):(8, 1)), &layout!((1, 8))).unwrap();
        let from = Tensor::new(gmem(&global[..]), layout!((64, 64):(64, 1))).unwrap();
        g2s.copy(&from, &mut Tensor::new(smem(&mut buffer[..]), tile).unwrap()).unwrap();
        assert!((0..64).all(|r| (0..64).all(|k| buffer[tile.eval_at(&[r, k]) as usize] == value(r, k, s))));
        buffer
    };
    let (a, b) = (filled(3), filled(8));
    let (sa, sb) = (Tensor::new(smem(&a[..]), tile).unwrap(), Tensor::new(smem(&b[..]), tile).unwrap());
    let ld = |operand| TiledCopy::for_mma(CopyAtom::ldmatrix(4, false).unwrap(), 16, &mma, operand).unwrap();
    let (ld_a, ld_b) = (ld(Operand::A), ld(Operand::B));
    let places = Layout::column_major(shape).unwrap();
    let (mut ra, mut rb, mut rc) = (Vec::new(), Vec::new(), Vec::new());
    for thread in 0..128 {
        // Loaded as the copy moves them, used as the MMA holds them.
        let fragment = |operand, ld: &TiledCopy, from: &Tensor<_>| {
            let part = mma.partition(operand, &places, thread).unwrap().0;
            let layout = part.fragment_like().unwrap();
            let mut held = Tensor::new(rmem(vec![0i16; 64]), layout).unwrap();
            let mut seen = held.as_mut().map(|l| Ok(ld.retile(&l.layout)?.into())).unwrap();
            ld.load(thread, from, &mut seen).unwrap();
            held
        };
        ra.push(fragment(Operand::A, &ld_a, &sa));
        rb.push(fragment(Operand::B, &ld_b, &sb));
        let part = mma.partition(Operand::C, &places, thread).unwrap().0;
        rc.push(Tensor::<Fragment<i32, U32>>::fragment_like(&part).unwrap());
    }
    let widened = |list: &[Tensor<_>]| -> Vec<Tensor<Vec32>> { list.iter().map(widen).collect() };
    mma.gemm(&widened(&ra), &widened(&rb), &mut rc).unwrap();
    for (thread, fragment) in rc.iter().enumerate() {
        let (part, offset) = mma.partition(Operand::C, &places, thread as i64).unwrap();
        for i in 0..part.size().value() {
            let at = offset + part.eval(i);
            let (m, n) = (at % 64, at / 64);
            let expected: i32 = (0..64).map(|k| i32::from(value(m, k, 3)) * i32::from(value(n, k, 8))).sum();
            assert_eq!(fragment.read(i), Ok(expected), "thread {thread}, value {i}, ({m}, {n})");
        }
    }
    // Too few fragments, and fragments of another MMA.
    let few = mma.gemm(&widened(&ra[..3]), &widened(&rb), &mut rc);
    assert_eq!(few, Err(TensorError::Threads { thread: 3, given: 3 }));
}

type Vec32 = Vec<i32>;

fn widen(t: &Tensor<Tagged<Vec<i16>>>) -> Tensor<Vec32> {
    let wide: Vec<i32> = t.iter().map(i32::from).collect();
    let layout = Layout::column_major(t.layout().layout.shape()).unwrap();
    Tensor::new(wide, layout).unwrap()
}

/// The quad pairs of SM70, whose thread ids have gaps, and atoms along k, which sum apart.
#[test]
fn other_atoms_multiply_too() {
    for (mma, name) in [
        (TiledMma::new(MmaAtom::sm70(32, false, false).unwrap(), &layout!((1, 1, 1))).unwrap(), "sm70"),
        (
            TiledMma::new(MmaAtom::sm70(32, true, false).unwrap(), &layout!((2, 2, 1):(4, 8, 0))).unwrap(),
            "sm70 quad pairs",
        ),
        (TiledMma::new(MmaAtom::mma_sync(8, 4, [64, 64, 64, 64]).unwrap(), &layout!((2, 1, 1))).unwrap(), "f64"),
        (TiledMma::new(MmaAtom::mma_sync(16, 8, [32, 16, 16, 32]).unwrap(), &layout!((1, 1, 2))).unwrap(), "along k"),
        (TiledMma::new(MmaAtom::wgmma(16, 16, [32, 16, 16, 32], true).unwrap(), &layout!((1, 1, 1))).unwrap(), "wgmma"),
        (TiledMma::new(MmaAtom::universal_fma(32), &layout!((4, 4, 1))).unwrap(), "fma"),
    ] {
        let [m, n, k] = mma.tile_mnk().map(|extent| 2 * extent);
        let matrix =
            |x: i64, y: i64| Layout::column_major(IntTuple::flat(&[Int::Static(x), Int::Static(y)]).unwrap()).unwrap();
        let (la, lb, lc) = (matrix(m, k), matrix(n, k), matrix(m, n));
        let a: Vec<i32> = (0..m * k).map(|i| (i % 13 - 6) as i32).collect();
        let b: Vec<i32> = (0..n * k).map(|i| (i % 7 - 3) as i32).collect();
        // SM70's ids have gaps: threads between take no part.
        let threads = mma.thr_layout_vmnk().cosize().value();
        let parts = |operand, layout: &Layout, data: &[i32]| -> Vec<Tensor<Vec32>> {
            let part = |thread| {
                let (part, offset) = mma.partition(operand, layout, thread).unwrap();
                let values: Vec<i32> =
                    (0..part.size().value()).map(|i| data[(offset + part.eval(i)) as usize]).collect();
                Tensor::new(values, Layout::column_major(part.shape()).unwrap()).unwrap()
            };
            (0..threads).map(part).collect()
        };
        let (fa, fb) = (parts(Operand::A, &la, &a), parts(Operand::B, &lb, &b));
        let mut fc = parts(Operand::C, &lc, &vec![0; (m * n) as usize]);
        mma.gemm(&fa, &fb, &mut fc).unwrap();
        let mut c = vec![0; (m * n) as usize];
        let members: std::collections::HashSet<i64> =
            (0..mma.threads()).map(|i| mma.thr_layout_vmnk().eval(i)).collect();
        for thread in members {
            let (part, offset) = mma.partition(Operand::C, &lc, thread).unwrap();
            for i in 0..part.size().value() {
                c[(offset + part.eval(i)) as usize] += fc[thread as usize].read(i).unwrap();
            }
        }
        for (at, sum) in c.iter().enumerate() {
            let (i, j) = (at as i64 % m, at as i64 / m);
            let expected: i32 = (0..k).map(|l| a[(i + m * l) as usize] * b[(j + n * l) as usize]).sum();
            assert_eq!(*sum, expected, "{name}: ({i}, {j})");
        }
    }
}

#[test]
fn fragments_are_registers() {
    let part: Layout = "((_2,_2),_2):((_1,_512),_8)".parse().unwrap();
    let mut held = Tensor::<Fragment<f32, U8>>::fragment_like(&part).unwrap();
    assert_eq!(
        (held.space(), held.to_string().as_str()),
        (MemorySpace::Register, "rmem_ptr[32b](+0) o ((_2,_2),(_2)):((_1,_2),(_4))")
    );
    fill(&mut held, 2.5).unwrap();
    assert_eq!(held.engine().values(), [2.5; 8]);
    let wrong = Tensor::<Fragment<f32, U16>>::fragment_like(&part).map(|_| ());
    assert_eq!(wrong, Err(TensorError::Sizes { operation: "a part and its fragment", left: 8, right: 16 }));
}

/// Threads that copy what their accumulators are, a store atom's worth at a time.
#[test]
fn one_atom_of_the_accumulators() {
    let mma = TiledMma::new(MmaAtom::mma_sync(16, 16, [32, 16, 16, 32]).unwrap(), &layout!((2, 2, 1)))
        .unwrap()
        .with_permutation(1, &layout!((8, 2, 2):(1, 16, 8)))
        .unwrap();
    let whole = layout!((64, 64));
    for matrices in [1, 2, 4] {
        let atom = CopyAtom::stmatrix(matrices, false).unwrap();
        let Ok(copy) = TiledCopy::for_mma_c_atom(atom, 16, &mma) else { panic!("{matrices} matrices") };
        assert_eq!(copy.threads(), 128);
        let [m, n, _] = mma.tile_mnk();
        assert_eq!(copy.tiler().product().value(), 128 * 2 * i64::from(matrices), "{}", copy.tiler_by_mode());
        let mut covered = vec![0; 64 * 64];
        for thread in 0..128 {
            // Values in the order in which the MMA holds them, tile by tile.
            let (copied, offset) = copy.partition(Side::Source, &whole, thread).unwrap();
            let (held, first) = mma.partition(Operand::C, &whole, thread).unwrap();
            let atom_values = 2 * i64::from(matrices);
            for value in 0..atom_values.min(4) {
                assert_eq!(offset + copied.eval(value), first + held.eval(value), "thread {thread}, value {value}");
            }
            (0..copied.size().value()).for_each(|i| covered[(offset + copied.eval(i)) as usize] += 1);
        }
        assert!(covered.iter().all(|c| *c == 1), "{matrices} matrices of {m} x {n}");
    }
    let too_wide = TiledCopy::for_mma_c_atom(CopyAtom::universal(1024).unwrap(), 16, &mma);
    assert!(matches!(too_wide, Err(LayoutError::TooFew { .. })), "{too_wide:?}");
}

/// Threads said by the addresses that they move.
#[test]
fn a_copy_by_addresses() {
    let atom = CopyAtom::universal(128).unwrap();
    // 32 threads, eight 16-bit elements each, over a row-major 8 by 32 block.
    let data = layout!((8, 32):(32, 1));
    let by_address = TiledCopy::cotiled(atom, 16, &layout!((32, 8):(8, 1)), &data).unwrap();
    assert_eq!((by_address.tiler(), by_address.threads()), (int_tuple!((8, 32)), 32));
    for thread in 0..32 {
        let (part, offset) = by_address.partition(Side::Source, &data, thread).unwrap();
        let addresses: Vec<i64> = (0..8).map(|i| offset + part.eval(i)).collect();
        assert_eq!(addresses, (8 * thread..8 * thread + 8).collect::<Vec<_>>());
    }
    let outside = TiledCopy::cotiled(atom, 16, &layout!((64, 8):(8, 1)), &data);
    assert!(matches!(outside, Err(LayoutError::Outside { offset: 256.. })), "{outside:?}");
    // A tile of every other row: the tiler is no longer a number a mode.
    let rows = TiledCopy::cotiled(atom, 16, &layout!(((4, 4), 8):((8, 64), 1)), &data).unwrap();
    assert_eq!(rows.tiler_by_mode().to_string(), "(_4,(_4,_8)):(_2,(_8,_1))");
    let held = Fragment::<i64, U4>::generate(|i| rows.partition(Side::Source, &data, 4 * i as i64).unwrap().1);
    assert_eq!(held.values(), [0, 64, 128, 192]);
}
