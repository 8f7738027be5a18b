use super::{Prediction, predict};
use std::fmt::Write;
use warpwright_arch::DeviceInfo;
use warpwright_kernels::lower;
use warpwright_spec::{InstructionId, KernelPlan, LoaderId, Mnk, Problem, ScheduleId, Substitute};

/// Why this plan: what was decided, what it occupies, and how long the model thinks it takes.
pub fn explain(plan: &KernelPlan, device: &DeviceInfo, problem: &Problem) -> String {
    let s = &plan.spec;
    let r = &plan.resources;
    let mut t = String::new();
    let bound = problem.bound();
    let _ = writeln!(
        t,
        "{}: {} x {} -> {} -> {} on {} ({}), M = {}, N = {}, K = {}, {} {}",
        plan.name(),
        s.a.name(),
        s.b.name(),
        s.acc.name(),
        s.d.name(),
        s.arch.name(),
        device.name,
        bound.m,
        bound.n,
        bound.k,
        problem.groups(),
        if problem.groups() == 1 { "problem" } else { "problems" }
    );
    let _ = writeln!(t, "  epilogue   d = {}", s.epilogue);
    let _ = writeln!(
        t,
        "  schedule   {} of {} fed by {}, {} scheduler",
        s.schedule,
        s.instruction,
        loader(plan),
        s.scheduler
    );
    match plan.substitute {
        None => {}
        Some(Substitute::NotWritten { principal }) => {
            let _ = writeln!(t, "             instead of {principal}, whose device code does not exist yet");
        }
        Some(Substitute::Vectors { principal }) => {
            let _ = writeln!(t, "             instead of {principal}, most of whose products would be of zeros");
        }
        Some(Substitute::Unreadable { principal, operand, dtype }) => {
            let _ = writeln!(
                t,
                "             instead of {principal}, which cannot read {operand} of {dtype} that is MN-major"
            );
        }
        Some(Substitute::Loader { operand, given, needed }) => {
            let _ = writeln!(
                t,
                "             instead of TMA, which needs addresses and strides in multiples of {needed} bytes: {operand}'s are multiples of {given}"
            );
        }
        Some(Substitute::Misaligned { principal, operand, given, needed }) => {
            let _ = writeln!(
                t,
                "             instead of {principal}, which needs addresses and strides in multiples of {needed} bytes: {operand}'s are multiples of {given}"
            );
        }
    }
    if plan.repacks.any() {
        let (copied, bytes) = (plan.user_repacks().name(), lower::repacked_bytes(plan, problem));
        let _ = writeln!(
            t,
            "  repacks    {copied} into {:.1} MB of workspace first, in lines that TMA can address",
            bytes as f64 / 1e6
        );
    }
    // Pingpong's two warp groups have a tile each.
    let tiles_at_once = if matches!(plan.spec.schedule, ScheduleId::PINGPONG) { 2 } else { 1 };
    let (wm, wn) = (r.warps.0 / tiles_at_once, r.warps.1);
    let dots = s.instruction == InstructionId::DOT;
    let warps = match dots {
        true => format!("{} warps", r.warps.0),
        false => format!("{wm} x {wn} warps of {} x {}", plan.tile.m / wm.max(1), plan.tile.n / wn.max(1)),
    };
    let of = match (plan.transposed, plan.along_rows()) {
        (false, _) => "",
        (true, false) => " of the transposed problem",
        (true, true) => " of the transposed problem, whose D is column-major",
    };
    let _ = writeln!(t, "  tile       {}{of}, {warps}, {} threads", plan.tile, r.threads);
    let Mnk { m, n, k } = plan.cluster;
    if plan.cluster.blocks() > 1 {
        let shared = if m * n > 1 { format!(", {m} x {n} tiles that share their loads") } else { String::new() };
        let parts = if k > 1 { format!(", {k} parts of a tile's K") } else { String::new() };
        let _ = writeln!(t, "  cluster    {} blocks{shared}{parts}", plan.cluster.blocks());
    }
    let kib = |bytes: usize| bytes as f64 / 1024.0;
    let stages = match dots && r.stage_bytes == 0 {
        true => format!("{} steps in registers", r.stages),
        false if dots => format!("{} stages of {:.1} KiB", r.stages, kib(r.stage_bytes)),
        false => format!(
            "{} stages of {:.1} KiB, the epilogue's {:.1} KiB {} them ({})",
            r.stages,
            kib(r.stage_bytes),
            kib(r.buffer("staging").map_or(0, |staging| staging.bytes)),
            if r.reuses_stages() { "in" } else { "beside" },
            s.staging.name(),
        ),
    };
    let _ = writeln!(t, "  memory     {stages}, {:.1} KiB of shared memory in all", kib(r.shared_bytes));
    let w = plan.widths;
    let _ = writeln!(t, "  copies     A {} B, B {} B, C {} B, D {} B at a time (kernel's order)", w.a, w.b, w.c, w.d);
    let p = predict(plan, device, problem);
    let _ = writeln!(
        t,
        "  waves      {} tiles{} on {} resident blocks: {}, {}, {} side by side",
        p.tiles,
        match (plan.splits, plan.cluster.k) {
            (1, 1) => String::new(),
            (1, parts) => format!(" in {parts} parts, one a block of a cluster"),
            (parts, _) => format!(" in {parts} parts"),
        },
        p.resident,
        p.waves,
        plan.raster.name(),
        plan.swizzle
    );
    // The model's rates are a GPU's; on the CPU it only ranks tiles.
    if device.is_host() {
        return t;
    }
    predicted(&mut t, &p, 2.0 * bound.m as f64 * bound.n as f64 * bound.k as f64 * problem.groups() as f64);
    if let Some(newest) = device.newest_tag().filter(|newest| *newest > s.arch) {
        let _ =
            writeln!(t, "  note       {newest} kernels run here too and may use newer instructions than {}'s", s.arch);
    }
    t
}

/// The model's terms.
fn predicted(t: &mut String, p: &Prediction, flops: f64) {
    let us = |seconds: f64| seconds * 1e6;
    let mb = |bytes: f64| bytes / 1e6;
    let _ = writeln!(
        t,
        "  predicted  {:.1} us ({:.0} TFLOP/s): {:.1} us fixed, {}and what does not overlap of",
        us(p.seconds),
        flops / p.seconds / 1e12,
        us(p.fixed),
        if p.repack > 0.0 { format!("{:.1} us to repack, ", us(p.repack)) } else { String::new() }
    );
    let _ =
        write!(t, "    SMs      {:.1} us: {:.1} us pipe, {:.1} us epilogue", us(p.compute), us(p.pipe), us(p.epilogue));
    for (what, seconds) in [("split", p.split), ("for power", p.power)] {
        // What rounds to nothing is not mentioned.
        if us(seconds) >= 0.05 {
            let _ = write!(t, ", {:.1} us {what}", us(seconds));
        }
    }
    t.push('\n');
    let _ = writeln!(t, "    L2->SM   {:.1} us: {:.1} MB", us(p.l2), mb(p.l2_bytes));
    let _ = writeln!(t, "    HBM      {:.1} us: {:.1} MB", us(p.memory), mb(p.memory_bytes));
}

fn loader(plan: &KernelPlan) -> &'static str {
    match (plan.spec.loader, plan.widths.a.min(plan.widths.b)) {
        (LoaderId::CP_ASYNC, 0..=3) => "cp.async and, for unaligned operands, plain loads",
        (LoaderId::CP_ASYNC, _) => "cp.async",
        (LoaderId::GLOBAL_TO_REGISTER, _) => "plain loads through registers",
        (LoaderId::TMA, _) => "TMA",
        (LoaderId::BULK_ROWS, _) => "bulk copies of rows",
        (LoaderId::TMA_MULTICAST, _) => "TMA multicast",
    }
}
