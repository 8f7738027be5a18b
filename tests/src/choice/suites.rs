//! Two disjoint suites of problems: one that the model's constants are fitted to, one that only judges them.

use warpwright::ArchId;

/// What a problem is for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Suite {
    /// The model may be fitted to it.
    Fitting,
    /// The model's constants must not come from it.
    Judging,
}

impl Suite {
    /// Both.
    pub const ALL: [Suite; 2] = [Suite::Fitting, Suite::Judging];

    /// `fitting` or `judging`.
    pub fn name(self) -> &'static str {
        match self {
            Suite::Fitting => "fitting",
            Suite::Judging => "judging",
        }
    }

    /// The suite of a name.
    pub fn from_name(name: &str) -> Option<Suite> {
        Suite::ALL.into_iter().find(|suite| suite.name() == name)
    }
}

/// M, N and K of a suite's problems for one tag's kernels. Both suites have squares off the powers of two, few rows, few tiles and
/// long K, a wave and a little more, short K; those of `Sm90` have layers of language models too.
pub fn suite(tag: ArchId, suite: Suite) -> &'static [(usize, usize, usize)] {
    match (tag, suite) {
        (ArchId::SM90, Suite::Fitting) => SM90_FITTING,
        (ArchId::SM90, Suite::Judging) => SM90_JUDGING,
        (_, Suite::Fitting) => SM80_FITTING,
        (_, Suite::Judging) => SM80_JUDGING,
    }
}

const SM80_FITTING: &[(usize, usize, usize)] = &[
    (1536, 1536, 1536),
    (64, 24576, 1536),
    (512, 512, 512),
    (2304, 2304, 2304),
    (3072, 3072, 3072),
    (16, 8192, 8192),
    (128, 2112, 7168),
    (256, 7168, 2048),
    (256, 256, 65536),
    (384, 640, 16384),
    (4096, 4096, 320),
    (1664, 2560, 4096),
    (768, 768, 768),
    (2048, 2048, 2048),
    (1024, 3072, 1024),
    (32, 5120, 5120),
    (640, 5120, 2560),
    (96, 4096, 14336),
];

const SM80_JUDGING: &[(usize, usize, usize)] = &[
    (1280, 1280, 1280),
    (64, 7168, 16384),
    (1792, 1792, 1792),
    (512, 4096, 7168),
    (16, 14336, 4096),
    (896, 896, 896),
    (2816, 2816, 2816),
    (128, 24576, 1536),
    (192, 384, 32768),
    (2048, 5120, 640),
    (1408, 3328, 2048),
    (3584, 3584, 3584),
    (48, 6144, 4096),
    (128, 128, 16384),
    (8192, 8192, 192),
    (256, 2112, 7168),
];

const SM90_FITTING: &[(usize, usize, usize)] = &[
    (512, 512, 512),
    (4096, 2112, 7168),
    (1024, 1024, 1024),
    (1024, 24576, 1536),
    (2048, 2048, 2048),
    (4096, 4096, 4096),
    (1024, 7168, 16384),
    (1024, 576, 7168),
    (8192, 8192, 8192),
    (4096, 7168, 2048),
    (1536, 1536, 1536),
    (1024, 10240, 8192),
    (4096, 24576, 1536),
    (768, 768, 768),
    (256, 7168, 2048),
    (4096, 7168, 16384),
    (3072, 3072, 3072),
    (128, 24576, 1536),
    (1024, 4096, 7168),
    (4096, 8192, 8192),
    (4096, 1536, 7168),
    (64, 2112, 7168),
    (1024, 8192, 28672),
    (4096, 57344, 8192),
];

const SM90_JUDGING: &[(usize, usize, usize)] = &[
    (640, 640, 640),
    (4096, 4096, 7168),
    (1280, 1280, 1280),
    (1024, 32768, 512),
    (1792, 1792, 1792),
    (1024, 8192, 8192),
    (4096, 32768, 512),
    (1024, 1536, 7168),
    (6144, 6144, 6144),
    (1024, 7168, 2048),
    (2560, 2560, 2560),
    (4096, 10240, 8192),
    (4096, 576, 7168),
    (256, 24576, 1536),
    (128, 4096, 7168),
    (4096, 7168, 18432),
    (1024, 57344, 8192),
    (64, 7168, 16384),
    (4096, 8192, 28672),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suites_are_disjoint() {
        for tag in [ArchId::SM80, ArchId::SM90] {
            let [fitting, judging] = Suite::ALL.map(|of| suite(tag, of));
            assert!(fitting.iter().all(|problem| !judging.contains(problem)));
        }
    }

    #[test]
    fn names_are_found() {
        for suite in Suite::ALL {
            assert_eq!(Suite::from_name(suite.name()), Some(suite));
        }
        assert_eq!(Suite::from_name("test"), None);
    }
}
