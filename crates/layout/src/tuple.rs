//! Nested tuples of integers, stored inline.

use core::fmt;

use crate::{Int, LayoutError, ModePath};

/// One element of a tuple written out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Token {
    Leaf,
    Open,
    Close,
}

/// An integer or a tuple of `IntTuple`s: CuTe's shapes, strides and coordinates.
///
/// `4` and `(4)` differ (the second has rank 1 and depth 1). The value is inline, `Copy` and usable in `const`: a list
/// of integers and a bit string that holds the parentheses.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct IntTuple {
    // One bit a token, first token lowest: is it `(`, is it `)`; otherwise it is an integer. Unused bits and values are 0 so
    // that the derived equality is exact.
    opens: u64,
    closes: u64,
    token_count: u8,
    leaf_count: u8,
    dynamic: u32,
    values: [i64; Self::MAX_LEAVES],
}

/// A position in the token string, with the number of leaves before it.
#[derive(Clone, Copy)]
pub(crate) struct Cursor {
    pub(crate) token: usize,
    pub(crate) leaf: usize,
}

impl IntTuple {
    /// Most integers that a tuple holds.
    pub const MAX_LEAVES: usize = 24;
    /// Most tokens (integers, opening and closing parentheses) that a tuple holds.
    pub const MAX_TOKENS: usize = 64;

    pub(crate) const NOTHING: Self =
        Self { opens: 0, closes: 0, token_count: 0, leaf_count: 0, dynamic: 0, values: [0; Self::MAX_LEAVES] };

    /// One integer.
    pub const fn leaf(v: Int) -> Self {
        let mut t = Self::NOTHING;
        t.push_leaf(v);
        t
    }

    /// One static integer.
    pub const fn int(v: i64) -> Self {
        Self::leaf(Int::Static(v))
    }

    /// The tuple of `modes`.
    ///
    /// # Errors
    /// [`LayoutError::TooLarge`] above [`MAX_LEAVES`](Self::MAX_LEAVES) integers or [`MAX_TOKENS`](Self::MAX_TOKENS) tokens.
    pub const fn tuple(modes: &[Self]) -> Result<Self, LayoutError> {
        let mut t = Self::NOTHING;
        let mut fits = t.push_open();
        let mut i = 0;
        while i < modes.len() {
            fits = fits && t.push_subtree(&modes[i], Cursor::START);
            i += 1;
        }
        if fits && t.push_close() { Ok(t) } else { Err(LayoutError::TooLarge) }
    }

    /// The tuple `(a0,a1,…)` of integers.
    ///
    /// # Errors
    /// [`LayoutError::TooLarge`] above [`MAX_LEAVES`](Self::MAX_LEAVES) integers.
    pub const fn flat(values: &[Int]) -> Result<Self, LayoutError> {
        let mut t = Self::NOTHING;
        let mut fits = t.push_open();
        let mut i = 0;
        while i < values.len() {
            fits = fits && t.push_leaf(values[i]);
            i += 1;
        }
        if fits && t.push_close() { Ok(t) } else { Err(LayoutError::TooLarge) }
    }

    /// Whether this is a tuple (not a single integer).
    pub const fn is_tuple(&self) -> bool {
        self.is_open(0)
    }

    /// The number of modes; 1 for an integer.
    pub const fn rank(&self) -> usize {
        self.rank_at(Cursor::START)
    }

    /// The nesting depth; 0 for an integer.
    pub const fn depth(&self) -> usize {
        let (mut depth, mut most, mut i) = (0, 0, 0);
        while i < self.token_count as usize {
            match self.token(i) {
                Token::Open => {
                    depth += 1;
                    if depth > most {
                        most = depth;
                    }
                }
                Token::Close => depth -= 1,
                Token::Leaf => {}
            }
            i += 1;
        }
        most
    }

    /// The number of integers.
    #[inline]
    pub const fn leaves(&self) -> usize {
        self.leaf_count as usize
    }

    /// The `i`-th integer, left to right, whatever the nesting.
    ///
    /// # Panics
    /// When `i` is not below [`MAX_LEAVES`](Self::MAX_LEAVES); between [`leaves`](Self::leaves) and this it is 0.
    #[inline]
    pub const fn get(&self, i: usize) -> Int {
        if self.dynamic >> i & 1 == 1 { Int::Dynamic(self.values[i]) } else { Int::Static(self.values[i]) }
    }

    /// The integers, left to right, whatever the nesting.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Int> + '_ {
        (0..self.leaves()).map(|i| self.get(i))
    }

    #[inline]
    pub(crate) const fn values(&self) -> &[i64; Self::MAX_LEAVES] {
        &self.values
    }

    /// Whether every integer is static.
    pub const fn is_static(&self) -> bool {
        self.dynamic == 0
    }

    /// The same tuple with every integer dynamic.
    pub const fn to_dynamic(mut self) -> Self {
        self.dynamic = ((1u64 << self.leaf_count) - 1) as u32;
        self
    }

    /// The same tuple with every integer static.
    pub const fn to_static(mut self) -> Self {
        self.dynamic = 0;
        self
    }

    /// Mode `i`; an integer is its own mode 0.
    ///
    /// # Panics
    /// When `i` is not below [`rank`](Self::rank).
    pub const fn mode(&self, i: usize) -> Self {
        let at = self.child_at(Cursor::START, i);
        assert!(!self.at_end(at), "no such mode");
        let mut t = Self::NOTHING;
        t.push_subtree(self, at);
        t
    }

    /// The product of all integers; beyond 64 bits it saturates, as [`Int`]'s arithmetic does.
    pub const fn product(&self) -> Int {
        self.product_at(Cursor::START)
    }

    /// The integers as a tuple of depth 1; an integer stays an integer, and a tuple of one integer too.
    pub const fn flatten(&self) -> Self {
        if !self.is_tuple() {
            return *self;
        }
        let mut t = Self::NOTHING;
        t.push_open();
        let mut i = 0;
        while i < self.leaves() {
            t.push_leaf(self.get(i));
            i += 1;
        }
        t.push_close();
        t
    }

    /// The integers in the nesting of `profile`, whatever the nesting here.
    ///
    /// # Errors
    /// [`LayoutError::Rank`] when `profile` has another number of integers.
    pub const fn unflatten(&self, profile: &Self) -> Result<Self, LayoutError> {
        if self.leaf_count != profile.leaf_count {
            let (found, needed) = (self.leaves(), profile.leaves());
            return Err(LayoutError::Rank { operation: "unflatten, in integers", found, needed });
        }
        Ok(profile.with_leaves_of(self))
    }

    /// The product of each mode: `((2,3),4)` becomes `(6,4)`, and `6` becomes `(6)`. Products saturate.
    pub const fn product_each(&self) -> Self {
        let mut t = Self::NOTHING;
        t.push_open();
        let (mut i, rank) = (0, self.rank());
        while i < rank {
            t.push_leaf(self.product_at(self.child_at(Cursor::START, i)));
            i += 1;
        }
        t.push_close();
        t
    }

    /// Whether both have the same nesting.
    pub const fn congruent(&self, other: &Self) -> bool {
        self.opens == other.opens && self.closes == other.closes && self.token_count == other.token_count
    }

    /// The same nesting with other integers; `values` must hold one integer a leaf.
    pub(crate) const fn with_leaves(&self, values: &[Int]) -> Self {
        let mut t = Self { opens: self.opens, closes: self.closes, token_count: self.token_count, ..Self::NOTHING };
        let mut i = 0;
        while i < self.leaves() {
            t.put(values[i]);
            i += 1;
        }
        t
    }

    /// The same nesting with the integers of `other`, which has as many.
    pub(crate) const fn with_leaves_of(&self, other: &Self) -> Self {
        Self { opens: self.opens, closes: self.closes, token_count: self.token_count, ..*other }
    }

    /// The path of leaf `i`.
    pub(crate) const fn path(&self, leaf: usize) -> ModePath {
        self.path_from(Cursor::START, leaf, ModePath::ROOT)
    }

    const fn path_from(&self, at: Cursor, leaf: usize, path: ModePath) -> ModePath {
        let rank = self.rank_at(at);
        if !self.is_tuple_at(at) {
            return path;
        }
        let mut i = 0;
        while i < rank {
            let child = self.child_at(at, i);
            if leaf < self.skip(child).leaf {
                return self.path_from(child, leaf, path.child(i));
            }
            i += 1;
        }
        path
    }

    #[inline]
    const fn is_open(&self, i: usize) -> bool {
        self.opens >> i & 1 == 1
    }

    #[inline]
    const fn is_close(&self, i: usize) -> bool {
        self.closes >> i & 1 == 1
    }

    const fn token(&self, i: usize) -> Token {
        if self.is_open(i) {
            Token::Open
        } else if self.is_close(i) {
            Token::Close
        } else {
            Token::Leaf
        }
    }

    const fn push_token(&mut self, token: Token) -> bool {
        if self.token_count as usize == Self::MAX_TOKENS {
            return false;
        }
        match token {
            Token::Leaf => {}
            Token::Open => self.opens |= 1 << self.token_count,
            Token::Close => self.closes |= 1 << self.token_count,
        }
        self.token_count += 1;
        true
    }

    #[inline]
    const fn put(&mut self, v: Int) {
        let i = self.leaf_count as usize;
        self.values[i] = v.value();
        if !v.is_static() {
            self.dynamic |= 1 << i;
        }
        self.leaf_count += 1;
    }

    /// Appends an integer without a token; [`flat_tokens`](Self::flat_tokens) gives the tokens afterwards.
    #[inline]
    pub(crate) const fn put_bare(&mut self, v: Int) -> bool {
        if self.leaf_count as usize == Self::MAX_LEAVES {
            return false;
        }
        self.put(v);
        true
    }

    /// Replaces the last integer.
    pub(crate) const fn set_last(&mut self, v: Int) {
        self.leaf_count -= 1;
        self.dynamic &= !(1 << self.leaf_count);
        self.put(v);
    }

    /// The tokens of a tuple of depth 1, or of a single integer.
    pub(crate) const fn flat_tokens(&mut self) {
        let n = self.leaf_count;
        if n == 1 {
            self.token_count = 1;
            return;
        }
        self.opens = 1;
        self.closes = 1 << (n + 1);
        self.token_count = n + 2;
    }

    /// A bit for each integer that is the last of a mode; 0 when a mode has no integers.
    #[inline]
    pub(crate) const fn mode_ends(&self) -> u32 {
        if self.is_flat() || !self.is_tuple() {
            return ((1u64 << self.leaf_count) - 1) as u32;
        }
        let (mut modes, mut leaf, mut ends) = (self.walk(), 0, 0);
        while modes.has_next() {
            let leaves = modes.next_leaves();
            if leaves == 0 {
                return 0;
            }
            leaf += leaves;
            ends |= 1 << (leaf - 1);
        }
        ends
    }

    /// Whether this is a tuple of integers alone.
    #[inline]
    pub(crate) const fn is_flat(&self) -> bool {
        self.token_count == self.leaf_count + 2
    }

    /// The number of tokens so far.
    pub(crate) const fn tokens_so_far(&self) -> u32 {
        self.token_count as u32
    }

    /// Encloses the tokens from position `from` on in parentheses.
    pub(crate) const fn enclose(&mut self, from: u32) -> bool {
        if self.token_count as usize + 2 > Self::MAX_TOKENS {
            return false;
        }
        let below = (1u64 << from) - 1;
        self.opens = self.opens & below | 1 << from | (self.opens & !below) << 1;
        self.closes = self.closes & below | (self.closes & !below) << 1;
        self.token_count += 1;
        self.push_token(Token::Close)
    }

    #[inline]
    pub(crate) const fn push_leaf(&mut self, v: Int) -> bool {
        if self.leaf_count as usize == Self::MAX_LEAVES || !self.push_token(Token::Leaf) {
            return false;
        }
        self.put(v);
        true
    }

    pub(crate) const fn push_open(&mut self) -> bool {
        self.push_token(Token::Open)
    }

    pub(crate) const fn push_close(&mut self) -> bool {
        self.push_token(Token::Close)
    }

    pub(crate) const fn push_subtree(&mut self, from: &Self, at: Cursor) -> bool {
        let end = from.skip(at);
        let (tokens, leaves) = (end.token - at.token, end.leaf - at.leaf);
        let (token, leaf) = (self.token_count as usize, self.leaf_count as usize);
        if leaf + leaves > Self::MAX_LEAVES || token + tokens > Self::MAX_TOKENS {
            return false;
        }
        let marks = u64::MAX >> (Self::MAX_TOKENS - tokens);
        self.opens |= (from.opens >> at.token & marks) << token;
        self.closes |= (from.closes >> at.token & marks) << token;
        self.dynamic |= (from.dynamic >> at.leaf & ((1 << leaves) - 1)) << leaf;
        let mut i = 0;
        while i < leaves {
            self.values[leaf + i] = from.values[at.leaf + i];
            i += 1;
        }
        self.token_count += tokens as u8;
        self.leaf_count += leaves as u8;
        true
    }

    /// Whether `at` is behind the last mode of its tuple.
    #[inline]
    pub(crate) const fn at_end(&self, at: Cursor) -> bool {
        at.token >= self.token_count as usize || self.is_close(at.token)
    }

    /// The position behind the subtree at `at`.
    #[inline]
    pub(crate) const fn skip(&self, at: Cursor) -> Cursor {
        if !self.is_open(at.token) {
            return Cursor { token: at.token + 1, leaf: at.leaf + 1 };
        }
        // A tuple of integers alone ends at the next parenthesis, which the bits know.
        let (opens, closes) = (self.opens >> at.token >> 1, self.closes >> at.token >> 1);
        let leaves = closes.trailing_zeros() as usize;
        if opens.trailing_zeros() as usize > leaves {
            return Cursor { token: at.token + leaves + 2, leaf: at.leaf + leaves };
        }
        let (mut token, mut leaf, mut open) = (at.token, at.leaf, 0);
        loop {
            match self.token(token) {
                Token::Leaf => leaf += 1,
                Token::Open => open += 1,
                Token::Close => open -= 1,
            }
            token += 1;
            if open == 0 || token >= self.token_count as usize {
                return Cursor { token, leaf };
            }
        }
    }

    pub(crate) const fn is_tuple_at(&self, at: Cursor) -> bool {
        self.is_open(at.token)
    }

    pub(crate) const fn rank_at(&self, at: Cursor) -> usize {
        if !self.is_tuple_at(at) {
            return 1;
        }
        let (mut c, mut rank) = (Cursor { token: at.token + 1, leaf: at.leaf }, 0);
        while !self.is_close(c.token) {
            c = self.skip(c);
            rank += 1;
        }
        rank
    }

    /// Mode `i` of the subtree at `at`; an integer is its own mode 0.
    pub(crate) const fn child_at(&self, at: Cursor, i: usize) -> Cursor {
        if !self.is_tuple_at(at) {
            return at;
        }
        let (mut c, mut n) = (Cursor { token: at.token + 1, leaf: at.leaf }, 0);
        while n < i && !self.at_end(c) {
            c = self.skip(c);
            n += 1;
        }
        c
    }

    pub(crate) const fn product_at(&self, at: Cursor) -> Int {
        let end = self.skip(at).leaf;
        let (mut p, mut i) = (Int::ONE, at.leaf);
        while i < end {
            p = p.mul(self.get(i));
            i += 1;
        }
        p
    }
}

/// Walks over the modes of a tuple: its marks, shifted so that the next mode starts at bit 0.
#[derive(Clone, Copy)]
pub(crate) struct Walk {
    opens: u64,
    closes: u64,
    left: u32,
}

impl IntTuple {
    #[inline]
    pub(crate) const fn walk(&self) -> Walk {
        let inside = self.is_tuple() as u32;
        Walk { opens: self.opens >> inside, closes: self.closes >> inside, left: self.token_count as u32 - inside }
    }
}

impl Walk {
    #[inline]
    pub(crate) const fn has_next(&self) -> bool {
        self.left > 0 && self.closes & 1 == 0
    }

    /// Steps over the next mode; the number of its integers.
    #[inline]
    pub(crate) const fn next_leaves(&mut self) -> usize {
        let (tokens, leaves) = if self.opens & 1 == 0 {
            (1, 1)
        } else {
            // A tuple of integers alone ends at the next parenthesis.
            let (run, nested) = ((self.closes >> 1).trailing_zeros(), (self.opens >> 1).trailing_zeros());
            if run < nested { (run + 2, run) } else { Self::nested(self.opens, self.closes) }
        };
        // Of 64 tokens at least one stands before the last mode.
        self.opens >>= tokens;
        self.closes >>= tokens;
        self.left -= tokens;
        leaves as usize
    }

    /// Tokens and integers of a mode that has tuples in it.
    #[cold]
    #[inline(never)]
    const fn nested(opens: u64, closes: u64) -> (u32, u32) {
        let (mut tokens, mut leaves, mut open) = (0, 0, 0);
        loop {
            if opens >> tokens & 1 == 1 {
                open += 1;
            } else if closes >> tokens & 1 == 1 {
                open -= 1;
            } else {
                leaves += 1;
            }
            tokens += 1;
            if open == 0 {
                return (tokens, leaves);
            }
        }
    }
}

impl Cursor {
    pub(crate) const START: Self = Self { token: 0, leaf: 0 };
}

impl From<Int> for IntTuple {
    fn from(v: Int) -> Self {
        Self::leaf(v)
    }
}

impl IntTuple {
    /// Writes the nesting, and what `integer` writes for each leaf.
    pub(crate) fn write_with(
        &self,
        f: &mut fmt::Formatter<'_>,
        integer: impl Fn(&mut fmt::Formatter<'_>, usize) -> fmt::Result,
    ) -> fmt::Result {
        let mut leaf = 0;
        let mut first = true;
        for i in 0..self.token_count as usize {
            match self.token(i) {
                Token::Close => {
                    f.write_str(")")?;
                    first = false;
                    continue;
                }
                _ if !first => f.write_str(",")?,
                _ => {}
            }
            if self.is_open(i) {
                f.write_str("(")?;
                first = true;
            } else {
                integer(f, leaf)?;
                leaf += 1;
                first = false;
            }
        }
        Ok(())
    }
}

impl fmt::Display for IntTuple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_with(f, |f, leaf| fmt::Display::fmt(&self.get(leaf), f))
    }
}

impl fmt::Debug for IntTuple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A static [`IntTuple`] from nested parentheses: `int_tuple!((8, (4, 2)))`.
///
/// # Panics
/// When the tuple is too large; in a `const` that is a compile error.
#[macro_export]
macro_rules! int_tuple {
    (($($mode:tt),* $(,)?)) => {
        match $crate::IntTuple::tuple(&[$($crate::int_tuple!($mode)),*]) {
            Ok(tuple) => tuple,
            Err(_) => panic!("the tuple has too many integers"),
        }
    };
    ($value:expr) => { $crate::IntTuple::int($value as i64) };
}

/// A static [`Layout`](crate::Layout) in CuTe's notation: `layout!((8, 64):(64, 1))`; without strides it is compact,
/// first mode fastest.
///
/// # Panics
/// When shape and stride do not fit each other; in a `const` that is a compile error.
#[macro_export]
macro_rules! layout {
    ($shape:tt : $stride:tt) => {
        match $crate::Layout::new($crate::int_tuple!($shape), $crate::int_tuple!($stride)) {
            Ok(layout) => layout,
            Err(_) => panic!("shape and stride do not make a layout"),
        }
    };
    ($shape:tt) => {
        match $crate::Layout::column_major($crate::int_tuple!($shape)) {
            Ok(layout) => layout,
            Err(_) => panic!("the shape does not make a layout"),
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: IntTuple = int_tuple!((8, (4, 2), 3));

    #[test]
    fn structure() {
        assert_eq!((T.rank(), T.depth(), T.leaves()), (3, 2, 4));
        assert_eq!(T.to_string(), "(_8,(_4,_2),_3)");
        assert_eq!(T.mode(1), int_tuple!((4, 2)));
        assert_eq!(T.product(), Int::Static(192));
        assert_eq!(T.product_each(), int_tuple!((8, 8, 3)));
        assert_eq!(T.flatten(), int_tuple!((8, 4, 2, 3)));
        assert_eq!(T.path(2).to_string(), "mode 1,1");
        assert_ne!(int_tuple!(4), int_tuple!((4)));
    }
}
