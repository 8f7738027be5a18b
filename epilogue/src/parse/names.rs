//! What names in an epilogue stand for.

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasher;
use warpwright_numeric::Dtype;
use warpwright_spec::ScalarKind;

/// What a name stands for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum NameKind {
    /// A scalar.
    Scalar(ScalarKind),
    /// A matrix or a vector of this element; the expression says which: `row(bias)`, `tile(mask)`, `source(c)`.
    Operand(Dtype),
    /// What a sink stores in, of this element; the expression says which: `aux_store(z, acc)`, `amax(s, acc)`.
    Output(Dtype),
}

/// The names that an epilogue may use.
pub trait Names {
    /// What a name stands for.
    fn kind(&self, name: &str) -> Option<NameKind>;
    /// All names, for messages.
    fn all(&self) -> Vec<String>;
}

impl<N: Names + ?Sized> Names for &N {
    fn kind(&self, name: &str) -> Option<NameKind> {
        (**self).kind(name)
    }
    fn all(&self) -> Vec<String> {
        (**self).all()
    }
}

impl Names for BTreeMap<String, NameKind> {
    fn kind(&self, name: &str) -> Option<NameKind> {
        self.get(name).copied()
    }
    fn all(&self) -> Vec<String> {
        self.keys().cloned().collect()
    }
}

impl<S: BuildHasher> Names for HashMap<String, NameKind, S> {
    fn kind(&self, name: &str) -> Option<NameKind> {
        self.get(name).copied()
    }
    fn all(&self) -> Vec<String> {
        let mut names: Vec<_> = self.keys().cloned().collect();
        names.sort();
        names
    }
}

impl Names for [(&str, NameKind)] {
    fn kind(&self, name: &str) -> Option<NameKind> {
        self.iter().find(|(n, _)| *n == name).map(|&(_, kind)| kind)
    }
    fn all(&self) -> Vec<String> {
        self.iter().map(|(n, _)| (*n).to_owned()).collect()
    }
}

impl<const N: usize> Names for [(&str, NameKind); N] {
    fn kind(&self, name: &str) -> Option<NameKind> {
        self.as_slice().kind(name)
    }
    fn all(&self) -> Vec<String> {
        self.as_slice().all()
    }
}
