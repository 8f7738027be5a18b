//! The hand-written pipeline, whole.

#[path = "common/pipeline.rs"]
mod pipeline;
#[path = "common/ptx.rs"]
mod ptx;

use pipeline::{SAME, run, text};
use warpwright_emulator::Completion;

#[test]
fn the_unbroken_pipeline_is_exact_and_never_reported() {
    for seed in 0..20 {
        for completion in [Completion::Early, Completion::Late, Completion::Reordered] {
            let right = run(&text(), seed, completion, SAME).unwrap_or_else(|f| panic!("{f}"));
            assert!(right, "seed {seed} {completion:?}");
        }
    }
}
