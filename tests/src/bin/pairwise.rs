//! Writes `cases/pairwise.toml`.

fn main() -> std::io::Result<()> {
    std::fs::write(warpwright_tests::case::folder().join("pairwise.toml"), warpwright_tests::pairwise::table())
}
