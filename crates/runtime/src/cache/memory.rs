//! Entries of this process.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::Key;

/// At most this many bytes; what was put there first goes first.
const LIMIT: usize = 256 << 20;

#[derive(Debug, Default)]
pub(super) struct Memory {
    entries: HashMap<Key, Arc<[u8]>>,
    order: VecDeque<Key>,
    bytes: usize,
}

impl Memory {
    pub(super) fn get(&self, key: &Key) -> Option<Arc<[u8]>> {
        self.entries.get(key).cloned()
    }

    pub(super) fn insert(&mut self, key: Key, payload: Arc<[u8]>) {
        self.bytes += payload.len();
        match self.entries.insert(key, payload) {
            Some(former) => self.bytes -= former.len(),
            None => self.order.push_back(key),
        }
        while self.bytes > LIMIT && self.order.len() > 1 {
            let oldest = self.order.pop_front().and_then(|key| self.entries.remove(&key));
            self.bytes -= oldest.map_or(0, |payload| payload.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_go_when_it_is_full() {
        let key = |n: u8| Key::of(&[&[n]]);
        let mut memory = Memory::default();
        let large: Arc<[u8]> = vec![0; LIMIT / 2].into();
        for n in 0..4 {
            memory.insert(key(n), large.clone());
            memory.insert(key(n), large.clone());
        }
        assert!(memory.get(&key(0)).is_none() && memory.get(&key(1)).is_none());
        assert!(memory.get(&key(2)).is_some() && memory.get(&key(3)).is_some());
        assert_eq!(memory.bytes, LIMIT);
    }
}
