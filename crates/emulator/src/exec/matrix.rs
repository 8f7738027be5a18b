//! `ldmatrix` and `stmatrix`.

use super::memory::Place;
use super::{Executed, Flow};
use crate::ir::{Matrix, Space};
use crate::machine::run::{At, Run};

/// Bytes of a row of 8 elements.
const ROW: usize = 16;

impl Run<'_> {
    pub(super) fn matrix(&mut self, at: At, op: &Matrix) -> Executed {
        if !self.together(at, !0) {
            return Ok(Flow::Stop);
        }
        let addresses = self.addresses(at, &op.address);
        let count = op.registers.len();
        let mut rows = [[0u32; 4]; 32];
        if op.store {
            // Lane l, register i: row l / 4, columns 2 (l % 4) and the next; transposed, rows and columns are swapped.
            let registers = &self.warp(at).registers;
            for (i, register) in op.registers.iter().enumerate() {
                for (l, word) in registers.row(register.row).iter().enumerate() {
                    for half in 0..2 {
                        let (row, column) = (l / 4, 2 * (l % 4) + half);
                        let (row, column) = if op.transposed { (column, row) } else { (row, column) };
                        rows[8 * i + row][column / 2] |= (word >> (16 * half) & 0xFFFF) << (16 * (column % 2));
                    }
                }
            }
        }
        let mut first = None;
        let mut sight = self.sight(at);
        // Lanes 8i to 8i + 7 name the rows of matrix i; what the others hold is ignored.
        for (lane, row) in rows.iter_mut().enumerate().take(8 * count) {
            let place = sight.find(Space::Shared, addresses[lane], ROW, lane)?;
            sight.check(place, ROW, op.store, lane, at.pc, false).map_err(|v| v.at(addresses[lane]))?;
            if op.store {
                for (bytes, word) in sight.bytes(place, ROW).chunks_exact_mut(4).zip(row.iter()) {
                    bytes.copy_from_slice(&word.to_le_bytes());
                }
            } else {
                for (bytes, word) in sight.bytes(place, ROW).chunks_exact(4).zip(row.iter_mut()) {
                    *word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
                }
            }
            first = first.or(Some(place));
        }
        if !op.store {
            let mask = at.mask;
            let registers = &mut self.warp(at).registers;
            for (i, register) in op.registers.iter().enumerate() {
                let matrix = &rows[8 * i..8 * i + 8];
                let element = |row: usize, column: usize| matrix[row][column / 2] >> (16 * (column % 2)) & 0xFFFF;
                let out: [u32; 32] = core::array::from_fn(|l| {
                    let (row, column) = (l / 4, 2 * (l % 4));
                    if op.transposed {
                        element(column, row) | element(column + 1, row) << 16
                    } else {
                        matrix[row][l % 4]
                    }
                });
                registers.write(*register, mask, &out);
            }
        }
        if let Some(place @ Place::Shared { .. }) = first {
            let bytes = (8 * count * ROW) as u64;
            if op.store {
                self.report.shared_written_bytes += bytes;
            } else {
                self.report.shared_read_bytes += bytes;
            }
            self.wavefronts(place, &addresses, !0 >> (32 - 8 * count), ROW);
        }
        Ok(Flow::Next)
    }
}
