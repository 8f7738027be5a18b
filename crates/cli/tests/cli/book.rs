//! The commands in the book: each prints what the book says, and draws the pictures that lie beside it.

use crate::common::Folder;
use std::path::Path;

/// The book's chapters, by name and text.
fn chapters() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "md"));
    paths.sort();
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    paths.iter().map(|path| (name(path), std::fs::read_to_string(path).unwrap())).collect()
}

/// The lines of a text without the spaces at their ends.
fn trimmed(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n").trim_end().to_owned()
}

/// Runs the commands of a block, each with the lines behind it.
fn commands(block: &str) -> Vec<(&str, String)> {
    let mut found: Vec<(&str, String)> = Vec::new();
    for line in block.lines() {
        match (line.strip_prefix("$ "), found.last_mut()) {
            (Some(command), _) => found.push((command, String::new())),
            (None, Some((_, output))) => *output += &format!("{line}\n"),
            (None, None) => panic!("a block begins with its output: {line}"),
        }
    }
    found
}

/// Whether a shell takes the words as they stand: what it would read as its own is quoted.
fn is_quoted(line: &str) -> bool {
    let unquoted = line.split('\'').step_by(2);
    line.matches('\'').count().is_multiple_of(2)
        && !unquoted.flat_map(str::chars).any(|c| "()<>|&;*?[]{}$`\"\\~#!".contains(c))
}

#[test]
fn every_command_of_the_book_prints_what_it_says() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let (mut ran, mut pictures) = (0, 0);
    for (name, text) in chapters() {
        for block in text.split("```console\n").skip(1) {
            let block = block.split("\n```").next().unwrap();
            for (command, expected) in commands(block) {
                let Some(line) = command.strip_prefix("warpwright ") else { panic!("{name}: {command}") };
                assert!(is_quoted(line), "{name}: a shell does not take `{command}` as it stands");
                let folder = Folder::new();
                std::fs::create_dir(folder.path("pictures")).unwrap();
                let outcome = folder.run(line);
                // A refusal is printed to standard error.
                let said = if outcome.code == Some(0) { &outcome.stdout } else { &outcome.stderr };
                assert_eq!(trimmed(said), trimmed(&expected), "{name}: {command}");
                ran += 1;
                if let Some((_, file)) = line.split_once("--out ") {
                    let drawn = std::fs::read_to_string(folder.path(file)).unwrap();
                    assert!(drawn == std::fs::read_to_string(docs.join(file)).unwrap(), "{file} is drawn otherwise");
                    assert!(text.contains(&format!("]({file})")), "{name} does not show {file}");
                    pictures += 1;
                }
            }
        }
    }
    println!("{ran} commands, {pictures} pictures");
    assert!(ran >= 50 && pictures >= 3, "{ran} commands, {pictures} pictures");
}
