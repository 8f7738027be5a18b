//! What epilogues store beside D: rows with values from outside, on any device.
//!
//! `cases/sinks.json`, which `tools/expect_sinks.py` writes, holds kernels, problems that have tails every way, and checksums from NumPy
//! of every output. So do `cases/blocks.json`, of blocks that share a scale factor (`tools/expect_blocks.py`), and `cases/fusions.json`, of
//! CUTLASS's operations (`tools/expect_fusions.py`). Operands are small integers, whose sums are exact in any order.

use std::collections::BTreeMap;
use std::error::Error;

use serde::Deserialize;
use warpwright::epilogue::parse::{Argument, NameKind, expression};
use warpwright::spec::{BlockScales, ScalarKind, Sink};
use warpwright::{
    AnyGemm, ArchId, Arg, Args, CallArgs, Device, Dtype, GemmDesc, KernelPlan, Mnk, Node, Order, RawView, RawViewMut,
    ScheduleId, SchedulerId, Stream, Strided, Tensor,
};

type Result<T = ()> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// A kernel, a problem, and what it stores.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Unique.
    pub name: String,
    arch: String,
    a: String,
    d: String,
    z: String,
    order: String,
    swap: bool,
    tile: [usize; 3],
    schedule: String,
    scheduler: String,
    /// Batch entries, M, N and K.
    extents: [usize; 4],
    /// Whether one element of A is NaN.
    nan: bool,
    /// Whether the row is emulated in every run of the tests.
    pub ci: bool,
    /// In the notation of the command line.
    pub epilogue: String,
    /// CRC-32 of each output's elements.
    outputs: BTreeMap<String, u32>,
}

impl Row {
    /// The tag of its kernel.
    pub fn arch(&self) -> &str {
        &self.arch
    }
}

/// All rows.
///
/// # Errors
/// A file that is not as it should be.
pub fn rows() -> Result<Vec<Row>> {
    let mut rows: Vec<Row> = serde_json::from_str(include_str!("../cases/sinks.json"))?;
    rows.extend(serde_json::from_str::<Vec<Row>>(include_str!("../cases/blocks.json"))?);
    rows.extend(serde_json::from_str::<Vec<Row>>(include_str!("../cases/fusions.json"))?);
    Ok(rows)
}

/// What lies where no element does, and in outputs beforehand.
const POISON: u8 = 0x7f;

/// A tensor's bytes on a device.
struct Held {
    memory: Tensor<u8>,
    layout: Strided,
    dtype: Dtype,
}

impl Held {
    fn new(stream: &Stream, dtype: Dtype, layout: Strided, value: Option<&dyn Fn([usize; 3]) -> f64>) -> Result<Held> {
        let mut bytes = vec![POISON; dtype.packed_bytes(layout.span(dtype)?) + 64];
        for at in value.into_iter().flat_map(|value| places(&layout).map(move |at| (at, value(at)))) {
            let ([b, m, n], x) = at;
            dtype.encode(&mut bytes, layout.offset(b, m, n), x);
        }
        let memory = Tensor::from_vec(1, bytes.len(), bytes)?;
        let memory = if stream.device().is_host() { memory } else { memory.to_device(stream)? };
        Ok(Held { memory, layout, dtype })
    }

    fn view(&self) -> RawView<'_> {
        let raw = self.memory.view().raw();
        // SAFETY: the layout's span and more was allocated.
        unsafe { RawView::new(raw.address(), raw.bytes(), raw.space(), self.dtype, self.layout) }
    }

    fn view_mut(&mut self) -> RawViewMut<'_> {
        let raw = self.memory.view().raw();
        // SAFETY: as in `view`, and `self` is borrowed mutably.
        unsafe { RawViewMut::new(raw.address(), raw.bytes(), raw.space(), self.dtype, self.layout) }
    }

    /// The checksum of its elements, if nothing was written beside them.
    fn checksum(&self, stream: &Stream) -> Result<u32> {
        let mut bytes = self.memory.to_host(stream)?.to_vec()?;
        let mut crc = flate2::Crc::new();
        for [b, m, n] in places(&self.layout) {
            let at = self.layout.offset(b, m, n);
            let x = self.dtype.decode(&bytes, at);
            let x = if x.is_nan() { f64::from_bits(0x7ff8 << 48) } else { x + 0.0 };
            crc.update(&x.to_le_bytes());
            // Bit by bit, for elements that share bytes.
            for bit in at * self.dtype.bits()..(at + 1) * self.dtype.bits() {
                bytes[bit / 8] = bytes[bit / 8] & !(1 << (bit % 8)) | POISON & 1 << (bit % 8);
            }
        }
        match bytes.iter().position(|&b| b != POISON) {
            Some(at) => Err(format!("byte {at}, which is no element's, was written").into()),
            None => Ok(crc.sum()),
        }
    }
}

fn places(layout: &Strided) -> impl Iterator<Item = [usize; 3]> + use<> {
    let [batch, rows, columns] = layout.extents;
    (0..batch).flat_map(move |b| (0..rows).flat_map(move |m| (0..columns).map(move |n| [b, m, n])))
}

/// What epilogues of rows read, beside numbers.
pub const NAMES: [(&str, NameKind); 5] = [
    ("bias", NameKind::Operand(Dtype::F32)),
    ("col", NameKind::Operand(Dtype::F32)),
    ("src", NameKind::Operand(Dtype::Bf16)),
    ("t", NameKind::Operand(Dtype::F32)),
    ("per", NameKind::Scalar(ScalarKind::PerBatch)),
];

/// The scale factors that an epilogue stores, the outer ones first.
fn scales(node: &Node) -> Vec<BlockScales> {
    let here = match node {
        Node::Sink(Sink::Quantize(scales), _) => Some(*scales),
        _ => None,
    };
    here.into_iter().chain(node.children().into_iter().flatten().flat_map(scales)).collect()
}

fn small([b, i, j]: [usize; 3]) -> f64 {
    ((b * 5 + i * 7 + j * 3) % 5) as f64 - 2.0
}

/// Runs a row twice on a device, the second time on what the first left, and compares every output with its checksum; answers the
/// plans that ran.
///
/// # Errors
/// What differs, or was refused.
pub fn check(row: &Row, device: &Device) -> Result<Vec<KernelPlan>> {
    let named = |text: &str| format!("{}: `{text}` is not known", row.name);
    let dtype = |name: &str| Dtype::from_name(name).ok_or_else(|| named(name));
    let [batch, m, n, k] = row.extents;
    let (a_type, d_type) = (dtype(&row.a)?, dtype(&row.d)?);
    let acc = match a_type {
        Dtype::I8 => Dtype::I32,
        Dtype::F64 => Dtype::F64,
        _ => Dtype::F32,
    };
    let compute = if acc == Dtype::F64 { Dtype::F64 } else { Dtype::F32 };
    let (order, order_d) = match row.order.as_str() {
        "row" => (Order::RowMajor, warpwright::spec::Order::Row),
        _ => (Order::ColumnMajor, warpwright::spec::Order::Column),
    };
    let stream = device.default_stream()?;
    let of = |rows, columns, order| Strided::dense_batch(batch, rows, columns, order);
    let nan = row.nan;
    let lhs = move |at: [usize; 3]| if nan && at == [0, 3, 1] { f64::NAN } else { small(at) };
    let a = Held::new(&stream, a_type, of(m, k, Order::RowMajor), Some(&lhs))?;
    let b = Held::new(&stream, a_type, of(k, n, Order::ColumnMajor), Some(&|[b, k, n]| small([b, n, k])))?;
    let read = |dtype, layout, value: &dyn Fn([usize; 3]) -> f64| Held::new(&stream, dtype, layout, Some(value));
    let (across, down) = (Strided::dense(1, n, Order::RowMajor), Strided::dense(m, 1, Order::RowMajor));
    let inputs = BTreeMap::from([
        ("bias", read(Dtype::F32, across, &|[_, _, n]| (n % 9) as f64 - 4.0)?),
        ("col", read(Dtype::F32, down, &|[_, m, _]| (m % 7) as f64 - 3.0)?),
        ("src", read(Dtype::Bf16, of(m, n, order), &|at| 2.0 * small(at))?),
        ("t", read(Dtype::F32, of(m, n, Order::RowMajor), &|at| small(at) - 0.5)?),
        ("per", read(Dtype::F32, of(1, 1, Order::RowMajor), &|[b, ..]| b as f64 + 1.0)?),
    ]);
    // y is contiguous the other way than D, and its lines are apart.
    let (apart, bytes) = match order {
        Order::RowMajor => ([(m + 3) * n, 1, m + 3], [m, n.div_ceil(8)]),
        Order::ColumnMajor => ([m * (n + 5), n + 5, 1], [m.div_ceil(8), n]),
    };
    let apart = Strided { extents: [batch, m, n], strides: apart.map(|s| s as i64) };
    let held = |dtype, layout| Held::new(&stream, dtype, layout, None);
    // Lines of elements below a byte begin at whole bytes.
    let lines = |dtype: Dtype| {
        let whole = |extent: usize| if dtype.bits() < 8 { extent.next_multiple_of(8) } else { extent };
        let (rows, columns) = if order == Order::RowMajor { (m, whole(n)) } else { (whole(m), n) };
        Strided { extents: [batch, m, n], ..of(rows, columns, order) }
    };
    let mut outputs = BTreeMap::from([
        ("d", held(d_type, lines(d_type))?),
        ("z", held(dtype(&row.z)?, lines(dtype(&row.z)?))?),
        ("y", held(compute, apart)?),
        ("r", held(compute, of(1, n, Order::RowMajor))?),
        // Of all entries together.
        ("c", held(compute, Strided::dense(m, 1, Order::RowMajor))?),
        ("s", held(compute, Strided::dense(1, 1, Order::RowMajor))?),
        ("q", held(compute, of(1, 1, Order::RowMajor))?),
        ("bits", held(Dtype::U8, of(bytes[0], bytes[1], order))?),
    ]);
    let mut names: BTreeMap<String, NameKind> =
        outputs.iter().map(|(name, held)| ((*name).to_owned(), NameKind::Output(held.dtype))).collect();
    names.extend(NAMES.map(|(name, kind)| (name.to_owned(), kind)));
    names.extend(["f", "g"].map(|name| (name.to_owned(), NameKind::Output(Dtype::E8m0))));
    let parsed = expression(&row.epilogue, &names)?;
    for (name, scales) in ["f", "g"].into_iter().zip(scales(parsed.node)) {
        let [rows, columns] = scales.extents(m, n);
        outputs.insert(name, held(scales.scale, of(rows, columns, Order::RowMajor))?);
    }
    let desc = GemmDesc {
        d: d_type,
        tile: Some(Mnk::new(row.tile[0], row.tile[1], row.tile[2])),
        stages: Some(2),
        schedule: ScheduleId::from_name(&row.schedule).ok_or_else(|| named(&row.schedule))?,
        scheduler: SchedulerId::from_name(&row.scheduler).ok_or_else(|| named(&row.scheduler))?,
        order_a: Some(warpwright::spec::Order::Row),
        order_b: Some(warpwright::spec::Order::Column),
        order_d: Some(order_d),
        swap_ab: row.swap.then_some(true),
        epilogue: parsed.node,
        ..GemmDesc::new(ArchId::from_name(&row.arch).ok_or_else(|| named(&row.arch))?, a_type, acc)
    };
    let gemm = AnyGemm::new(&desc, device)?;
    let views: BTreeMap<&str, RawViewMut<'_>> =
        outputs.iter_mut().map(|(name, held)| (*name, held.view_mut())).collect();
    let mut args = Args::new();
    for argument in &parsed.arguments {
        args.push(match argument {
            Argument::Named(name) => match inputs.get(name.as_str()) {
                Some(input) => Arg::Read(input.view()),
                None => Arg::Write(views[name.as_str()]),
            },
            Argument::Number(x) => Arg::Number(*x),
            _ => return Err(named("an argument without a name").into()),
        });
    }
    for _ in 0..2 {
        gemm.run_raw(&stream, a.view(), b.view(), views["d"], CallArgs { epilogue: args, ..CallArgs::default() })?;
    }
    stream.synchronize()?;
    for (name, wanted) in &row.outputs {
        let found = outputs[name.as_str()].checksum(&stream).map_err(|e| format!("{}: `{name}`: {e}", row.name))?;
        if found != *wanted {
            return Err(format!("{}: `{name}` is {found:08x}, not {wanted:08x}", row.name).into());
        }
    }
    Ok(gemm.compiled().into_iter().map(|(plan, _)| plan).collect())
}
