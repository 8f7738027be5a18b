//! Faults planted into what the GPU computes must be noticed by the comparison: the last k dropped, a tile shifted by one.

use crate::Part;
use warpwright::Device;
use warpwright_tests::library::Library;
use warpwright_tests::{Outcome, Prepared, Reference, Runner, case, judge};

const ROWS: &str = r#"
[[case]]
name = "fault_integers"
m = 256
n = 192
k = 200
a = { type = "bf16" }
d = { type = "f32" }
expect = "exact"

[[case]]
name = "fault_normal"
m = 256
n = 192
k = 200
a = { type = "f16" }
d = { type = "f32" }
expect = "bound"

[[case]]
name = "fault_normal_narrow"
m = 256
n = 192
k = 200
a = { type = "bf16" }
expect = "bound"
"#;

pub fn run(device: &Device) -> Part {
    let library = Library::new(device).map_err(|e| e.to_string())?;
    let mut planted = 0;
    for row in case::parse(ROWS).map_err(|e| e.to_string())? {
        let prepared = Prepared::new(&row)?;
        let reference = Reference::of(&prepared);
        let outcome = library.run(&prepared);
        let report = judge(&prepared, &reference, &outcome);
        if !report.passed() {
            return Err(format!("{} is wrong before any fault is planted: {:?}", row.name, report.verdict));
        }
        for (what, faulty) in
            [("last k dropped", without_last_k(&library, &prepared)), ("tile shifted", shifted(&prepared, &outcome))]
        {
            planted += 1;
            if judge(&prepared, &reference, &faulty?).passed() {
                return Err(format!("{}: {what}, and it was not noticed", row.name));
            }
        }
    }
    Ok(format!("{planted} of {planted} noticed"))
}

/// The GPU multiplies one column of A less.
fn without_last_k(library: &Library, prepared: &Prepared) -> Result<Outcome, String> {
    let mut short = prepared.clone();
    short.case.k -= 1;
    short.a.layout.columns -= 1;
    short.b.layout.rows -= 1;
    Ok(library.run(&short))
}

/// A 64-row tile of D comes from one row further up.
fn shifted(prepared: &Prepared, right: &Outcome) -> Result<Outcome, String> {
    let Outcome::Done { d, kernel, narrow } = right else { return Err("it did not run".into()) };
    let layout = &prepared.d.layout;
    let mut moved = d.clone();
    for i in 64..128 {
        for j in 0..layout.columns {
            let (to, from) = (layout.byte(0, i, j), layout.byte(0, i - 1, j));
            moved[to..to + layout.size()].copy_from_slice(&d[from..from + layout.size()]);
        }
    }
    Ok(Outcome::Done { d: moved, kernel: kernel.clone(), narrow: *narrow })
}
