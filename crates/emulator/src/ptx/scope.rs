//! Names of registers and labels: they live in the innermost pair of braces.

use super::ast::{Reg, Width};
use std::collections::HashMap;

/// A family `%r<100>` or a single register.
#[derive(Clone, Copy)]
struct Family {
    first: Reg,
    count: u32,
}

#[derive(Default)]
struct Scope<'a> {
    registers: HashMap<&'a str, Family>,
    labels: HashMap<&'a str, u32>,
    /// Instructions that refer to a label not seen yet.
    pending: Vec<(&'a str, usize)>,
}

/// The scopes that are open, and the register file as far as it is handed out.
#[derive(Default)]
pub(crate) struct Scopes<'a> {
    open: Vec<Scope<'a>>,
    pub rows: u32,
    pub predicates: u32,
}

impl<'a> Scopes<'a> {
    pub fn enter(&mut self) {
        self.open.push(Scope::default());
    }

    /// Closes the innermost scope. `found` receives each label reference that it resolves; the others wait for the scope
    /// around it. Returns the references that no scope resolves.
    pub fn leave(&mut self, mut found: impl FnMut(usize, &'a str, u32)) -> Vec<(&'a str, usize)> {
        let Some(scope) = self.open.pop() else { return Vec::new() };
        let mut lost = Vec::new();
        for (name, at) in scope.pending {
            match (scope.labels.get(name), self.open.last_mut()) {
                (Some(&target), _) => found(at, name, target),
                (None, Some(outer)) => outer.pending.push((name, at)),
                (None, None) => lost.push((name, at)),
            }
        }
        lost
    }

    /// Declares `count` registers named `name0`, `name1` …, or one named `name` when `count` is `None`.
    pub fn declare(&mut self, name: &'a str, width: Width, count: Option<u32>) {
        let n = count.unwrap_or(1);
        let row = if width == Width::Pred {
            self.predicates += n;
            self.predicates - n
        } else {
            if width.rows() > 1 {
                self.rows = self.rows.next_multiple_of(2);
            }
            self.rows += n * width.rows();
            self.rows - n * width.rows()
        };
        if let Some(scope) = self.open.last_mut() {
            scope.registers.insert(name, Family { first: Reg { row, width }, count: count.unwrap_or(0) });
        }
    }

    pub fn register(&self, name: &str) -> Option<Reg> {
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let index = name[stem.len()..].parse::<u32>().ok();
        self.open.iter().rev().find_map(|scope| {
            if let Some(family) = scope.registers.get(name).filter(|f| f.count == 0) {
                return Some(family.first);
            }
            let (family, index) = (scope.registers.get(stem)?, index?);
            let step = family.first.width.rows().max(1);
            (index < family.count).then(|| Reg { row: family.first.row + index * step, width: family.first.width })
        })
    }

    pub fn label(&mut self, name: &'a str, at: u32) {
        if let Some(scope) = self.open.last_mut() {
            scope.labels.insert(name, at);
        }
    }

    /// The instruction that a label in the innermost scope names.
    pub fn find(&self, name: &str) -> Option<u32> {
        self.open.last()?.labels.get(name).copied()
    }

    pub fn refer(&mut self, name: &'a str, instruction: usize) {
        if let Some(scope) = self.open.last_mut() {
            scope.pending.push((name, instruction));
        }
    }
}
