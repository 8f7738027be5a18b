//! A call like one before it is launched as if it were the first, and refused as if it were the first.

use warpwright::prelude::*;
use warpwright::runtime::{RawView, RawViewMut};
use warpwright::spec::{Node, Operator, ScalarKind, intern};
use warpwright::{Arg, Args, CallArgs, DeviceInfo, ScheduleId, Space};
use warpwright_tests::stand_in::{Launches, recording};

/// Where operands lie that nobody reads: an address, and how many bytes there are.
#[derive(Clone, Copy)]
struct At(u64, usize);

/// Operands of a call.
#[derive(Clone, Copy)]
struct Operands3 {
    dtype: Dtype,
    layouts: [Strided; 3],
    at: [At; 3],
}

const ROOM: usize = 1 << 24;

impl Operands3 {
    /// Far from one another, from a base on.
    fn new(dtype: Dtype, layouts: [Strided; 3], base: u64) -> Operands3 {
        Operands3 { dtype, layouts, at: [0, 1, 2].map(|i| At(base + i * ROOM as u64, ROOM)) }
    }

    fn run(&self, gemm: &AnyGemm, stream: &Stream, args: &Args<'_>, d: Dtype) -> std::result::Result<(), String> {
        let view = |i: usize| {
            let At(address, bytes) = self.at[i];
            // SAFETY: nothing is executed, so that nobody reads it.
            unsafe { RawView::new(address, bytes, Space::Host, self.dtype, self.layouts[i]) }
        };
        let At(address, bytes) = self.at[2];
        // SAFETY: as above.
        let to = unsafe { RawViewMut::new(address, bytes, Space::Host, d, self.layouts[2]) };
        let call = CallArgs { epilogue: *args, ..CallArgs::default() };
        gemm.run_raw(stream, view(0), view(1), to, call).map_err(|e| e.to_string())
    }
}

fn last(launches: &Launches) -> ([u32; 3], Vec<u8>) {
    launches.lock().unwrap().last().expect("a launch").clone()
}

/// Row-major A, column-major B, D as given, lines `pad` elements longer than they would be.
fn layouts((m, n, k): (usize, usize, usize), d: Order, batch: usize, pad: usize) -> [Strided; 3] {
    let matrix = |rows, columns, order| {
        let (line, lines) = if order == Order::RowMajor { (columns, rows) } else { (rows, columns) };
        let one = Strided::padded(rows, columns, order, line + pad).unwrap();
        one.batched(batch, lines * (line + pad))
    };
    [matrix(m, k, Order::RowMajor), matrix(k, n, Order::ColumnMajor), matrix(m, n, d)]
}

#[test]
fn a_repeated_call_is_launched_as_the_first() {
    let (device, launches) = recording(DeviceInfo::h200());
    let stream = device.new_stream().unwrap();
    let scaled = intern(Node::Combine(Operator::Times, intern(Node::LoadScalar(ScalarKind::Host)), &Node::LoadAcc));
    let bf16 = GemmDesc::new(ArchId::SM90, Dtype::Bf16, Dtype::F32);
    let sm80 = GemmDesc::new(ArchId::SM80, Dtype::F16, Dtype::F32);
    let mut calls = 0;
    for desc in [
        bf16,
        GemmDesc { schedule: ScheduleId::COOPERATIVE, epilogue: scaled, ..bf16 },
        GemmDesc { d: Dtype::F32, ..bf16 },
        sm80,
    ] {
        for (order, batch, pad) in [
            (Order::RowMajor, 1, 0),
            (Order::ColumnMajor, 1, 8),
            (Order::RowMajor, 3, 16),
            // cp.async copies what TMA cannot address.
            (Order::RowMajor, 1, 4),
        ] {
            let layouts = layouts((256, 384, 128), order, batch, pad);
            // Copies in workspace have no addresses of the call's.
            let made = || AnyGemm::new(&desc, &device).unwrap().repacks(false);
            let gemm = made();
            for (i, alpha) in [(1, 0.5), (2, 3.0), (3, 0.0), (4, -1.0)] {
                let args: Args<'_> =
                    if desc.epilogue == scaled { [Arg::Number(alpha)].into_iter().collect() } else { Args::new() };
                let operands = Operands3::new(desc.a, layouts, i << 32);
                operands.run(&gemm, &stream, &args, desc.d).unwrap();
                let repeated = last(&launches);
                operands.run(&made(), &stream, &args, desc.d).unwrap();
                assert!(repeated == last(&launches), "{desc:?}, {order:?}, {batch}, {pad}: call {i}");
                calls += 1;
            }
        }
    }
    assert_eq!(calls, 64);
}

#[test]
fn a_repeated_call_is_refused_as_the_first() {
    let (device, launches) = recording(DeviceInfo::h200());
    let stream = device.new_stream().unwrap();
    let desc = GemmDesc { schedule: ScheduleId::COOPERATIVE, ..GemmDesc::new(ArchId::SM90, Dtype::Bf16, Dtype::F32) };
    let good = Operands3::new(Dtype::Bf16, layouts((256, 384, 128), Order::RowMajor, 1, 0), 1 << 32);
    let with = |i: usize, at: At| {
        let mut bad = good;
        bad.at[i] = at;
        bad
    };
    let known = AnyGemm::new(&desc, &device).unwrap().repacks(false);
    for _ in 0..2 {
        good.run(&known, &stream, &Args::new(), desc.d).unwrap();
    }
    let [a, b, d] = good.at.map(|at| at.0);
    let at = |address| At(address, ROOM);
    let longer = |i: usize| {
        let mut bad = good;
        bad.layouts[i].extents[2] += 8;
        bad
    };
    for (what, bad, element) in [
        ("D over A", with(2, at(a + 256 * 128 * 2 - 256)), desc.d),
        ("D over B", with(2, at(b)), desc.d),
        ("A inside an element", with(0, at(a + 1)), desc.d),
        ("B inside an element", with(1, at(b + 3)), desc.d),
        ("D inside an element", with(2, at(d + 1)), desc.d),
        ("A too short", with(0, At(a, 256 * 128 * 2 - 2)), desc.d),
        ("D too short", with(2, At(d, 256 * 384 * 2 - 2)), desc.d),
        ("another element of D", good, Dtype::F16),
        ("A and B of other K", longer(0), desc.d),
        ("D of other N", longer(2), desc.d),
        ("an operand of f16", Operands3 { dtype: Dtype::F16, ..good }, desc.d),
    ] {
        let before = launches.lock().unwrap().len();
        let refused = bad.run(&known, &stream, &Args::new(), element).expect_err(what);
        let first = AnyGemm::new(&desc, &device).unwrap();
        assert_eq!(Err(refused), bad.run(&first, &stream, &Args::new(), element), "{what}");
        assert_eq!(launches.lock().unwrap().len(), before, "{what}");
    }
    let one: Args<'_> = [Arg::Number(1.0)].into_iter().collect();
    good.run(&known, &stream, &one, desc.d).expect_err("an argument that the epilogue does not have");
    // What lies otherwise is planned anew: TMA cannot address this.
    with(0, at(a + 8)).run(&known, &stream, &Args::new(), desc.d).unwrap();
    assert!(known.compiled().iter().any(|(plan, _)| !plan.spec.loader.is_tma()));
}
