//! Damaged text is an error, never a panic; what still loads still runs to an end or a report.

mod common;

use common::{BF16, F16_MN, config};
use warpwright_emulator::{Config, Module};

/// A small generator.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
}

#[test]
fn damaged_text_never_panics() {
    let mut dice = Dice(1);
    let (mut loaded, mut refused) = (0, 0);
    for gemm in [&BF16, &F16_MN] {
        // The first part holds every kind of statement; short texts make many rounds.
        let lines: Vec<&str> = gemm.text.lines().collect();
        for round in 0..150 {
            let mut text: Vec<String> = lines.iter().map(|l| (*l).to_owned()).collect();
            for _ in 0..=round % 3 {
                let at = dice.below(text.len());
                let other = text[dice.below(text.len())].clone();
                let line = &mut text[at];
                let cut = line.char_indices().map(|(i, _)| i).nth(dice.below(line.len().max(1))).unwrap_or(0);
                match dice.below(5) {
                    0 => line.clear(),
                    1 => line.truncate(cut),
                    2 => *line = other,
                    3 => line.insert(cut, *b"{}[];,.%0-|@!\"".get(dice.below(14)).unwrap_or(&b';') as char),
                    _ => *line = line.replace("32", ["64", "16", "8", "", "4294967295"][dice.below(5)]),
                }
            }
            match Module::parse(&text.join("\n")) {
                Ok(module) if module.kernels().len() == 1 => {
                    loaded += 1;
                    // Whatever it does now, it does without a panic.
                    let patience = 1 << 12;
                    let _ = gemm.run(&module, Config { patience, ..config(round) }, [64, 64, 64], 1);
                }
                Ok(_) => loaded += 1,
                Err(error) => {
                    refused += 1;
                    assert!(error.line > 0 && !error.to_string().is_empty());
                }
            }
        }
    }
    assert!(loaded > 20 && refused > 20, "{loaded} loaded, {refused} refused");
}
