//! The functions that an epilogue in text may call.

use warpwright_spec::Function;

/// Functions by name.
#[derive(Clone, PartialEq, Debug)]
pub struct Functions(Vec<Function>);

impl Functions {
    /// What the library defines. (`max`, `min`, comparisons, `select` and `convert` belong to the notation.)
    pub fn built_in() -> Functions {
        Functions(crate::functions::all().collect())
    }

    /// One more, such as `Softplus::FUNCTION` of a type that [`epilogue_fn!`](crate::epilogue_fn) made. It replaces one of
    /// the same name.
    pub fn with(mut self, function: Function) -> Functions {
        self.0.retain(|f| f.name != function.name);
        self.0.push(function);
        self
    }

    /// The function of a name.
    pub fn get(&self, name: &str) -> Option<Function> {
        self.0.iter().copied().find(|f| f.name == name)
    }

    /// All names.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.0.iter().map(|f| f.name)
    }
}

impl Default for Functions {
    fn default() -> Self {
        Functions::built_in()
    }
}
