//! A folder, files in it, and the built command run there.

use std::path::PathBuf;
use std::process::Command;
use tempfile::TempDir;

/// What the command printed and how it ended.
pub struct Outcome {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Outcome {
    /// Standard output as JSON, of a run that succeeded.
    pub fn json(&self) -> serde_json::Value {
        assert_eq!(self.code, Some(0), "{}", self.stderr);
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e}: {}", self.stdout))
    }
}

/// A folder for one test.
pub struct Folder(TempDir);

impl Folder {
    pub fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.path(name), bytes).unwrap();
    }

    /// Runs `warpwright` in the folder; words are separated by spaces, those with spaces are quoted by `'`.
    pub fn run(&self, line: &str) -> Outcome {
        let quoted = line.split('\'').enumerate();
        let words = quoted.flat_map(|(i, part)| match i % 2 {
            0 => part.split_whitespace().map(str::to_owned).collect(),
            _ => vec![part.to_owned()],
        });
        let output = Command::new(env!("CARGO_BIN_EXE_warpwright"))
            .args(words)
            .current_dir(self.0.path())
            .env("WARPWRIGHT_CACHE_DIR", self.0.path().join("cache"))
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        Outcome { code: output.status.code(), stdout: text(&output.stdout), stderr: text(&output.stderr) }
    }

    /// Runs it and expects success.
    pub fn ok(&self, line: &str) -> Outcome {
        let outcome = self.run(line);
        assert_eq!(outcome.code, Some(0), "{line}: {}", outcome.stderr);
        assert_eq!(outcome.stderr, "", "{line}");
        outcome
    }
}

/// A .npy file, version 1.
pub fn npy(descr: &str, fortran: bool, shape: &[usize], elements: &[u8]) -> Vec<u8> {
    let extents: String = shape.iter().map(|n| format!("{n},")).collect();
    let order = if fortran { "True" } else { "False" };
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': ({extents}), }}");
    while (10 + text.len() + 1) % 64 != 0 {
        text.push(' ');
    }
    text.push('\n');
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend_from_slice(&(text.len() as u16).to_le_bytes());
    file.extend_from_slice(text.as_bytes());
    file.extend_from_slice(elements);
    file
}

/// The header's text and the elements of a .npy file.
pub fn split(file: &[u8]) -> (String, Vec<u8>) {
    let size = usize::from(u16::from_le_bytes([file[8], file[9]]));
    (String::from_utf8(file[10..10 + size].to_vec()).unwrap(), file[10 + size..].to_vec())
}

pub fn f32s(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|&x| (x as f32).to_le_bytes()).collect()
}

/// A matrix by rows, in row-major or column-major order.
pub fn ordered(rows: usize, cols: usize, fortran: bool, values: &[f64]) -> Vec<f64> {
    match fortran {
        false => values.to_vec(),
        true => (0..cols).flat_map(|n| (0..rows).map(move |m| values[m * cols + n])).collect(),
    }
}

/// Small whole numbers, so that every sum is exact.
pub fn whole(count: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..count)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state % 7) as f64 - 3.0
        })
        .collect()
}

/// A · B by definition.
pub fn product(m: usize, n: usize, k: usize, a: &[f64], b: &[f64]) -> Vec<f64> {
    let at = |i: usize| (0..k).map(|l| a[i / n * k + l] * b[l * n + i % n]).sum();
    (0..m * n).map(at).collect()
}
