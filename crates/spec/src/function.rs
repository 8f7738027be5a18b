//! Functions of epilogues: what the host computes, what the device does, and how far the two may differ.

/// A function of one to three numbers. A user's own function is the same thing as a built-in one.
#[derive(Clone, Copy)]
pub struct Function {
    /// A C identifier, unique within a tree.
    pub name: &'static str,
    /// A CUDA expression in `x`, `y`, `z`.
    pub cuda: &'static str,
    /// CUDA text that the expression calls. A kernel holds each of these once, in the order of first need.
    pub needs: &'static [&'static str],
    /// What the host computes.
    pub host: HostFn,
    /// How far the device's value may be from the host's.
    pub accuracy: Accuracy,
    /// About how many machine instructions an f32 value takes: kernels repeat short epilogues.
    pub cost: usize,
}

impl Function {
    /// A function whose host body and device text are the same operations in the same order, so that they agree bit for bit.
    pub const fn exact(name: &'static str, cuda: &'static str, host: HostFn) -> Function {
        Function { name, cuda, needs: &[], host, accuracy: Accuracy::EXACT, cost: Function::operators(cuda) }
    }

    /// The operators and calls of a CUDA expression, of which its cost is guessed.
    pub const fn operators(cuda: &str) -> usize {
        let (text, mut i, mut count) = (cuda.as_bytes(), 0, 0);
        while i < text.len() {
            count += matches!(text[i], b'+' | b'-' | b'*' | b'/' | b'<' | b'>' | b'=' | b'?' | b'(') as usize;
            i += 1;
        }
        count
    }

    /// The same with another accuracy.
    pub const fn within(self, accuracy: Accuracy) -> Function {
        Function { accuracy, ..self }
    }
}

/// How far a device's f32 value `y` of a function may be from the host's: `of_result * |y| + of_first * |x| + absolute`, where `x`
/// is the first argument. f64 values are good to a few units in the last place where this is not exact.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Accuracy {
    /// Relative to the result.
    pub of_result: f32,
    /// Relative to the first argument: where a function's value cancels, or scales with what it multiplies.
    pub of_first: f32,
    /// Whatever the values are.
    pub absolute: f32,
}

impl Accuracy {
    /// The same bits.
    pub const EXACT: Accuracy = Accuracy { of_result: 0.0, of_first: 0.0, absolute: 0.0 };

    /// Relative to the result.
    pub const fn relative(of_result: f32) -> Accuracy {
        Accuracy { of_result, ..Accuracy::EXACT }
    }
    /// Relative to the first argument.
    pub const fn of_first(of_first: f32) -> Accuracy {
        Accuracy { of_first, ..Accuracy::EXACT }
    }
    /// Whether the two are the same bits.
    pub const fn is_exact(&self) -> bool {
        self.of_result == 0.0 && self.of_first == 0.0 && self.absolute == 0.0
    }
    /// What an approximation may flush to zero, near the smallest numbers of a compute type of this many bits of precision.
    pub fn flushed(&self, bits: i32) -> f64 {
        match (self.is_exact(), bits > 24) {
            (true, _) => 0.0,
            (false, false) => 2f64.powi(-118),
            (false, true) => 2f64.powi(-1000),
        }
    }
    /// The largest difference allowed at a value, in a compute type of this many bits of precision (24 or 53).
    pub fn allows(&self, first: f64, value: f64, bits: i32) -> f64 {
        if self.is_exact() {
            return 0.0;
        }
        if bits > 24 {
            return 16.0
                * 2f64.powi(-bits)
                * (value.abs() + if self.of_first + self.absolute > 0.0 { first.abs() } else { 0.0 });
        }
        f64::from(self.of_result) * value.abs() + f64::from(self.of_first) * first.abs() + f64::from(self.absolute)
    }
}

/// The host's body of a [`Function`], in both compute types.
#[derive(Clone, Copy, Debug)]
pub enum HostFn {
    /// Of one number.
    Unary(fn(f32) -> f32, fn(f64) -> f64),
    /// Of two numbers.
    Binary(fn(f32, f32) -> f32, fn(f64, f64) -> f64),
    /// Of three numbers.
    Ternary(fn(f32, f32, f32) -> f32, fn(f64, f64, f64) -> f64),
}

impl HostFn {
    /// How many numbers it takes.
    pub const fn arity(&self) -> usize {
        match self {
            HostFn::Unary(..) => 1,
            HostFn::Binary(..) => 2,
            HostFn::Ternary(..) => 3,
        }
    }
}

impl core::fmt::Debug for Function {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Function({}: {})", self.name, self.cuda)
    }
}

// Identity is what reaches the GPU. Comparing function pointers would be wrong: they are not unique.
impl PartialEq for Function {
    fn eq(&self, o: &Self) -> bool {
        (self.name, self.cuda, self.host.arity()) == (o.name, o.cuda, o.host.arity())
    }
}
impl Eq for Function {}
impl core::hash::Hash for Function {
    fn hash<H: core::hash::Hasher>(&self, h: &mut H) {
        (self.name, self.cuda).hash(h)
    }
}
