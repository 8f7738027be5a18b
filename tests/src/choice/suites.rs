//! Two disjoint suites of problems: one that the model's constants are fitted to, one that only judges them.

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

/// M, N and K of a suite's problems. Both have squares off the powers of two, few rows, few tiles and long K, a wave and a
/// little more, short K.
pub fn suite(suite: Suite) -> &'static [(usize, usize, usize)] {
    match suite {
        Suite::Fitting => &[
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
        ],
        Suite::Judging => &[
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
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suites_are_disjoint() {
        let [fitting, judging] = Suite::ALL.map(suite);
        assert!(fitting.iter().all(|problem| !judging.contains(problem)));
    }

    #[test]
    fn names_are_found() {
        for suite in Suite::ALL {
            assert_eq!(Suite::from_name(suite.name()), Some(suite));
        }
        assert_eq!(Suite::from_name("test"), None);
    }
}
