//! What epilogues store beside D, and what that costs.

use crate::Part;
use crate::proven::Proven;
use crate::turns::{Result, by_turns};
use warpwright::epilogue::parse::{NameKind, expression};
use warpwright::prelude::*;
use warpwright::runtime::RawViewMut;
use warpwright::{Arg, Args, CallArgs};
use warpwright_tests::random::{draw, normal};
use warpwright_tests::sinks::{check, rows};

/// Every row whose kernels this device runs, against values from outside.
pub fn run(device: &Device, small: bool, proven: &mut Proven) -> Part {
    let mut all = || -> Result<String> {
        let mut right = 0;
        for row in rows()?.iter().filter(|row| row.ci || !small) {
            let tag = ArchId::from_name(row.arch()).ok_or("no such tag")?;
            if device.info().check_tag(tag).is_ok() {
                proven.passed(&check(row, device)?);
                right += 1;
            }
        }
        Ok(format!("{right} rows as NumPy has them"))
    };
    all().map_err(|e| e.to_string())
}

/// D = relu(A · B + bias) of e4m3 with D before the activation and its largest magnitude beside it, against A · B alone, by turns.
pub fn cost(device: &Device, small: bool) -> Part {
    if small || device.info().check_tag(ArchId::SM90).is_err() {
        return Ok("not here: the kernels are sm_90's, and large".into());
    }
    let cost = || -> Result<String> {
        let mut lines = Vec::new();
        for (what, text) in [
            ("bias, relu", "d = relu(acc + row(bias))"),
            ("bias, relu, amax", "d = relu(amax(s, acc + row(bias)))"),
            ("bias, relu, amax, aux", "d = relu(aux_store(z, amax(s, acc + row(bias))))"),
            ("row sums", "d = reduce_rows<sum>(r, acc)"),
            ("f32 scale factors of 128", "d = quantize_rows<e4m3, f32, 128>(f, acc)"),
            ("e8m0 scale factors of 32", "d = quantize_rows<e4m3, e8m0, 32>(g, acc)"),
        ] {
            lines.push(format!("{what} {:+.2} %", 100.0 * (overhead(device, text)? - 1.0)));
        }
        Ok(format!("e4m3 8192^3 over the plain product: {}", lines.join("; ")))
    };
    cost().map_err(|e| e.to_string())
}

/// The median time with an epilogue over that without.
fn overhead(device: &Device, text: &str) -> Result<f64> {
    const SIZE: usize = 8192;
    let stream = device.new_stream()?;
    let matrix = |key: u64| -> Result<Tensor<e4m3>> {
        let of = |i: usize, j: usize| e4m3::from_f32(normal(draw(key, (i * SIZE + j) as u64)) as f32);
        Ok(Tensor::from_fn(SIZE, SIZE, of)?.to_device(&stream)?)
    };
    let (a, b) = (matrix(1)?, matrix(2)?);
    let layout = |rows| Strided::dense(rows, SIZE, Order::RowMajor);
    let (mut d, mut z) =
        (Tensor::<e4m3>::zeros_on(&stream, layout(SIZE))?, Tensor::<e4m3>::zeros_on(&stream, layout(SIZE))?);
    let bias = Tensor::<f32>::zeros_on(&stream, layout(1))?;
    let mut r = Tensor::<f32>::zeros_on(&stream, layout(1))?;
    let mut f = Tensor::<f32>::zeros_on(&stream, Strided::dense(SIZE, SIZE / 128, Order::RowMajor))?;
    let mut g = Tensor::<e8m0>::zeros_on(&stream, Strided::dense(SIZE, SIZE / 32, Order::RowMajor))?;
    let mut s = Tensor::<f32>::zeros_on(&stream, Strided::dense(1, 1, Order::RowMajor))?;
    let names = [
        ("bias", NameKind::Operand(Dtype::F32)),
        ("s", NameKind::Output(Dtype::F32)),
        ("r", NameKind::Output(Dtype::F32)),
        ("z", NameKind::Output(Dtype::E4m3)),
        ("f", NameKind::Output(Dtype::F32)),
        ("g", NameKind::Output(Dtype::E8m0)),
    ];
    let parsed = expression(text, &names)?;
    let desc = GemmDesc { d: Dtype::E4m3, ..GemmDesc::new(ArchId::SM90, Dtype::E4m3, Dtype::F32) };
    let plain = AnyGemm::new(&desc, device)?;
    let fused = AnyGemm::new(&GemmDesc { epilogue: parsed.node, ..desc }, device)?;
    let outputs: [(&str, RawViewMut<'_>); 5] = [
        ("s", s.view_mut()?.into_raw()),
        ("r", r.view_mut()?.into_raw()),
        ("z", z.view_mut()?.into_raw()),
        ("f", f.view_mut()?.into_raw()),
        ("g", g.view_mut()?.into_raw()),
    ];
    let mut args = Args::new();
    for name in parsed.names() {
        match outputs.iter().find(|(output, _)| *output == name) {
            Some((_, view)) => args.push(Arg::Write(*view)),
            None => args.push(Arg::Read(bias.view().raw())),
        }
    }
    let b = b.view().transposed();
    by_turns(&stream, [(&plain, Args::new()), (&fused, args)], |gemm, args| {
        let call = CallArgs { epilogue: args, ..CallArgs::default() };
        Ok(gemm.run_raw(&stream, a.view().raw(), b.raw(), d.view_mut()?.into_raw(), call)?)
    })
}
