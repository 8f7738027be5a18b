//! The samples of the README are parts of `examples/tour.rs`.

const README: &str = include_str!("../../../README.md");
const TOUR: &str = include_str!("../../../examples/tour.rs");

#[test]
fn every_line_of_the_readmes_samples_is_one_of_the_tour() {
    let tour: Vec<&str> = TOUR.lines().map(str::trim_start).collect();
    let (mut samples, mut missing) = (0, Vec::new());
    let mut lines = README.lines().zip(1..);
    while lines.any(|(line, _)| line.starts_with("```rust")) {
        samples += 1;
        for (line, number) in lines.by_ref().take_while(|(line, _)| *line != "```") {
            if !tour.contains(&line.trim_start()) {
                missing.push(format!("{number}: {line}"));
            }
        }
    }
    assert!(missing.is_empty(), "examples/tour.rs lacks these lines of README.md: {missing:#?}");
    assert!(samples >= 7, "{samples} samples");
}
