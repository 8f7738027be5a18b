//! What rustc says to a composition that is not legal. The texts are interface.

#[test]
fn errors() {
    let t = trybuild::TestCases::new();
    // Without a passing case trybuild only checks, and rules about numbers would seem to compile.
    t.pass("tests/pass/*.rs");
    t.compile_fail("tests/ui/*.rs");
}
