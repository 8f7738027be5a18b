//! What one kernel takes over another, one after the other in turn.

use warpwright::{AnyGemm, Args, Stream};

pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Rounds that count, and those before them.
const ROUNDS: (usize, usize) = (15, 3);

/// The second kernel's median time over the first one's; `run` submits what is timed.
pub fn by_turns<'a>(
    stream: &Stream,
    kernels: [(&AnyGemm, Args<'a>); 2],
    mut run: impl FnMut(&AnyGemm, Args<'a>) -> Result<()>,
) -> Result<f64> {
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..ROUNDS.0 + ROUNDS.1 {
        for (times, (gemm, args)) in times.iter_mut().zip(kernels) {
            let before = stream.mark()?;
            run(gemm, args)?;
            let seconds = stream.mark()?.seconds_since(&before)?;
            if round >= ROUNDS.1 {
                times.push(seconds);
            }
        }
    }
    let [first, second] = times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    });
    Ok(second / first)
}
