//! How the threads of a block share a step of a tile of dot products: `struct Dot`.

use super::config::{indented, plain};
use crate::gemv::{Share, WARP};
use std::fmt::Write;
use warpwright_layout::LayoutError;
use warpwright_layout::lower::index_function;
use warpwright_spec::{KernelPlan, LoaderId, MajorId};

pub(super) fn write(text: &mut String, plan: &KernelPlan) -> Result<(), LayoutError> {
    let spec = plan.kernel_spec();
    let share = Share::of(plan);
    let (own, width) = (share.threads, share.width);
    let along_k = plan.major_a == MajorId::K;
    let parts = own.run / width;
    // Elements of a vector that a thread takes together.
    let together = if along_k { width } else { own.lines };
    let vector_width = (8 * plan.widths.b / spec.b.bits()).clamp(1, together);
    let warps = own.rows * own.depth / WARP;
    let (along, across) = if along_k { (own.depth, own.rows) } else { (own.rows, own.depth) };
    let contiguous = plain(&[along, across], &[width, 0])?;
    let lines = plain(&[along, across], &[0, own.lines])?;
    let (row, k) = if along_k { (lines, contiguous) } else { (contiguous, lines) };
    let (sum_row, warp) = if along_k {
        (plain(&[own.lines], &[1])?, plain(&[share.warps, warps / share.warps], &[1, 0])?)
    } else {
        (plain(&[width, parts], &[1, along * width])?, plain(&[warps / share.warps, share.warps], &[0, 1])?)
    };
    let offset = |name: &str| plan.resources.buffer(name).map_or(0, |buffer| buffer.offset);
    let _ = write!(
        text,
        "struct Dot {{\n    static constexpr unsigned threads = {}, sums_offset = {};\n    using ElementA = {};\n    using ElementB = {};\n    \
         static constexpr bool along_k = {along_k}, vectors_along_k = {}, whole = {};\n    \
         static constexpr unsigned width = {width}, vector_width = {vector_width}, lines = {}, parts = {parts};\n    \
         static constexpr unsigned sums = {}, first_lane = {}, lanes = {}, warps = {};\n",
        own.rows * own.depth,
        offset("sums"),
        spec.a.name(),
        spec.b.name(),
        plan.major_b == MajorId::K,
        plan.whole_a,
        own.lines,
        own.rows_of_thread(plan.major_a),
        if along_k { 1 } else { own.rows.min(WARP) },
        share.lanes,
        share.warps,
    );
    for (name, layout, argument) in [
        ("row", row, "thread"),
        ("k", k, "thread"),
        ("step", plain(&[parts], &[along * width])?, "part"),
        ("sum_row", sum_row, "sum"),
        ("warp", warp, "warp"),
    ] {
        indented(text, 1, &index_function(name, &layout.into(), &[argument])?.to_string());
    }
    if plan.spec.loader == LoaderId::BULK_ROWS {
        let stage = plain(&[plan.tile.m, plan.tile.k], &[plan.tile.k, 1])?;
        let _ = writeln!(
            text,
            "    static constexpr unsigned ring_offset = {}, stage_bytes = {}, barriers_offset = {};",
            offset("a"),
            plan.resources.stage_bytes,
            offset("barriers")
        );
        indented(text, 1, &index_function("stage", &stage.into(), &["row", "k"])?.to_string());
    }
    *text += "};\n";
    Ok(())
}
