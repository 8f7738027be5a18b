//! Running a function compiled for wider vectors where the processor has them.

/// Declares `fn name(…) -> R = body`: calls `body`, an `#[inline(always)]` function, compiled for AVX2 if there is AVX2.
macro_rules! vectors {
    (fn $name:ident($($arg:ident: $t:ty),* $(,)?) $(-> $r:ty)? = $body:ident) => {
        fn $name($($arg: $t),*) $(-> $r)? {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2")]
                fn wide($($arg: $t),*) $(-> $r)? {
                    $body($($arg),*)
                }
                if std::arch::is_x86_feature_detected!("avx2") {
                    // SAFETY: the processor has AVX2, all that the function needs beyond the baseline.
                    return unsafe { wide($($arg),*) };
                }
            }
            $body($($arg),*)
        }
    };
}
pub(crate) use vectors;
