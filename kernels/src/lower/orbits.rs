//! Accesses that differ by a constant.
//!
//! A thread touches a shared-memory tile at many places. Where the swizzle allows, the distance between two of them is the
//! same in every thread; then one address and a literal serve both. Working this out here saves registers and arithmetic in
//! the kernel's innermost loop, and stays right for any layout.

/// The accesses `0..n` of every thread, sorted by what they are a constant away from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Orbits {
    /// One access of each orbit: the first, whose distance is 0.
    pub representatives: Vec<usize>,
    /// Which orbit an access is in.
    pub base: Vec<usize>,
    /// How far it is from its orbit's representative.
    pub delta: Vec<i64>,
}

impl Orbits {
    /// The orbits of `accesses` accesses by `threads` threads; `offset(access, thread)`.
    pub(crate) fn new(accesses: usize, threads: usize, offset: impl Fn(usize, usize) -> i64) -> Orbits {
        let mut orbits = Orbits { representatives: Vec::new(), base: Vec::new(), delta: Vec::new() };
        for access in 0..accesses {
            let found = orbits.representatives.iter().enumerate().find_map(|(base, &first)| {
                let delta = offset(access, 0) - offset(first, 0);
                let constant = (1..threads).all(|t| offset(access, t) - offset(first, t) == delta);
                constant.then_some((base, delta))
            });
            let (base, delta) = found.unwrap_or_else(|| {
                orbits.representatives.push(access);
                (orbits.representatives.len() - 1, 0)
            });
            orbits.base.push(base);
            orbits.delta.push(delta);
        }
        orbits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_swizzle_splits_accesses() {
        // Rows of 8, chunk XOR row: moving down 8 rows is a constant, moving along a row is not.
        let swizzled = |row: i64, chunk: i64| row * 8 + (chunk ^ (row % 8));
        let down = Orbits::new(4, 8, |access, thread| swizzled(thread as i64 + 8 * access as i64, 3));
        assert_eq!((down.representatives, down.base, down.delta), (vec![0], vec![0; 4], vec![0, 64, 128, 192]));
        let along = Orbits::new(2, 8, |access, thread| swizzled(thread as i64, access as i64));
        assert_eq!((along.representatives, along.base, along.delta), (vec![0, 1], vec![0, 1], vec![0, 0]));
    }
}
