//! cuBLASLt as a contestant: the fastest of its heuristics' algorithms, found by timing them.

use super::sample::Judged;
use super::{RaceError, RaceProblem, RaceRefusalReason, RaceRules, RaceTrack, median, order};
use warpwright_runtime::cublaslt::{CublasLtError, CublasLtProduct, CublasLtVersion, version};
use warpwright_runtime::{Device, RawView, RawViewMut};

/// How cuBLASLt's algorithms did, and which is the fastest.
#[derive(Clone, PartialEq, Debug)]
pub struct RaceLibrary {
    /// Which cuBLASLt it was.
    pub version: CublasLtVersion,
    /// Median seconds of each algorithm, in the order of the heuristics' liking; `None`: it cannot run the problem.
    pub medians: Vec<Option<f64>>,
    /// The fastest one's index.
    pub best: usize,
}

impl RaceLibrary {
    /// The fastest algorithm's median, in seconds.
    pub fn seconds(&self) -> f64 {
        self.medians.get(self.best).copied().flatten().unwrap_or(f64::NAN)
    }
}

/// cuBLASLt on a track: the product with the algorithm that was the fastest.
pub struct LibraryEntrant {
    product: CublasLtProduct,
    pub(super) times: RaceLibrary,
}

impl std::fmt::Debug for LibraryEntrant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LibraryEntrant").field("times", &self.times).finish_non_exhaustive()
    }
}

impl LibraryEntrant {
    /// How its algorithms did.
    pub fn qualified(&self) -> &RaceLibrary {
        &self.times
    }

    /// Times every algorithm and keeps the fastest.
    pub(super) fn qualify(track: &mut RaceTrack, rules: &RaceRules<'_>) -> Result<LibraryEntrant, RaceRefusalReason> {
        let fast = track.problem().fast_accumulation;
        let stream = track.stream().clone();
        let (a, b, d) = track.views()?;
        let product = CublasLtProduct::new(&stream, a, b, d, fast)?;
        let version = version().map_err(CublasLtError::from)?;
        let count = product.algorithms();
        let mut failure = None;
        // The first run of an algorithm loads its kernels, and shows whether it can run at all.
        let able: Vec<bool> = (0..count)
            .map(|algorithm| {
                let run = track.checked_by(Judged::Library, |a, b, d, _| Ok(product.run(algorithm, a, b, d)?));
                run.map_err(|error| failure = Some(error)).is_ok()
            })
            .collect();
        let mut times = vec![Vec::new(); count];
        for round in 0..=rules.qualifying.max(1) {
            for algorithm in order(count, !rules.seed ^ round as u64).into_iter().filter(|&i| able[i]) {
                let seconds = track.timed_by(|a, b, d, _| Ok(product.run(algorithm, a, b, d)?))?;
                // The first round warms up.
                if round > 0 {
                    times[algorithm].push(seconds);
                }
            }
        }
        let medians: Vec<Option<f64>> = times.iter().map(|times| (!times.is_empty()).then(|| median(times))).collect();
        let timed = medians.iter().enumerate().filter_map(|(i, seconds)| seconds.map(|seconds| (i, seconds)));
        match (timed.min_by(|x, y| x.1.total_cmp(&y.1)), failure) {
            (Some((best, _)), _) => Ok(LibraryEntrant { product, times: RaceLibrary { version, medians, best } }),
            (None, Some(error)) => Err(error),
            (None, None) => Err(CublasLtError::NoAlgorithm { workspace: CublasLtProduct::WORKSPACE }.into()),
        }
    }

    pub(super) fn run(&self, a: RawView<'_>, b: RawView<'_>, d: RawViewMut<'_>) -> Result<(), CublasLtError> {
        self.product.run(self.times.best, a, b, d)
    }
}

/// Times cuBLASLt alone: the median of each of its algorithms, which algorithm is the fastest.
///
/// # Errors
/// [`RaceError`]: [`RaceError::Library`] where there is no cuBLASLt, or none for this problem.
pub fn time_library(device: &Device, problem: &RaceProblem, rules: &RaceRules<'_>) -> Result<RaceLibrary, RaceError> {
    let mut track = RaceTrack::new(device, problem, rules)?;
    Ok(track.enter_library(rules)?.times)
}
