use super::*;
use crate::{
    EpilogueFunction, Expr, Fusion, NEG, acc, column, epilogue_fn, max, min, previous, relu, row, scalar, share, source,
};
use proptest::prelude::*;
use warpwright_numeric::Dtype;
use warpwright_spec::{Function, HostFn, Operator, ScalarKind, intern};

epilogue_fn!(softsign: Softsign, |x| x / (1.0 + x.abs()), "x / (1 + fabs(x))");

const LERP: Function =
    Function::exact("lerp", "x + z * (y - x)", HostFn::Ternary(|x, y, z| x + z * (y - x), |x, y, z| x + z * (y - x)));

const NAMES: [(&str, NameKind); 6] = [
    ("alpha", NameKind::Scalar(ScalarKind::Host)),
    ("beta", NameKind::Scalar(ScalarKind::Pointer)),
    ("gains", NameKind::Scalar(ScalarKind::PerBatch)),
    ("bias", NameKind::Operand(Dtype::F32)),
    ("c", NameKind::Operand(Dtype::Bf16)),
    ("v", NameKind::Operand(Dtype::F16)),
];

fn functions() -> Functions {
    Functions::built_in().with(Softsign::FUNCTION).with(LERP)
}

fn parsed(text: &str) -> Parsed {
    expression_with(text, &NAMES, &functions()).unwrap_or_else(|e| panic!("{e}\n{}", e.caret()))
}

fn node<N: Fusion>(_: Expr<N>) -> &'static Node {
    N::NODE
}

#[test]
fn text_is_the_tree_that_types_are() {
    let (bias, c, beta) = ([0f32; 1], [warpwright_numeric::bf16::ZERO; 1], [0f32]);
    let p = parsed("d = relu(alpha*acc + beta*source(c) + row(bias))");
    assert_eq!(p.node, node(relu(1.0 * acc() + scalar(&beta) * source(&c) + row(&bias))));
    assert_eq!(p.names().collect::<Vec<_>>(), ["alpha", "beta", "c", "bias"]);
    let p = parsed("max(acc, -2.5) - min(previous, column(bias)) / 4e-1");
    assert_eq!(p.node, node(max(acc(), -2.5) - min(previous(), column(&bias)) / 0.4));
    assert_eq!(p.arguments, [Argument::Number(-2.5), Argument::Named("bias".into()), Argument::Number(0.4)]);
    let p = parsed("let z = acc + row(bias); z * softsign(z)");
    assert_eq!(p.node, node(share(acc() + row(&bias), |z| z * softsign(z))));
    assert_eq!(parsed("1 - 2 - 3").node.to_string(), "scalar - scalar - scalar");
    assert_eq!(parsed("1 - (2 - 3)").node.to_string(), "scalar - (scalar - scalar)");
    assert_eq!(parsed("-acc * -(acc)").node, node(-acc() * -acc()));
    assert_eq!(parsed("gains * acc").node.to_string(), "scalar<per batch> * acc");
    assert_eq!(parsed("row<f32>(bias)").arguments, [Argument::Named("bias".into())]);
}

#[track_caller]
fn refused(text: &str, column: usize, width: usize, message: &str) {
    let error = expression_with(text, &NAMES, &functions()).unwrap_err();
    assert_eq!((error.column, error.width), (column, width), "{error}\n{}", error.caret());
    assert_eq!(error.to_string(), format!("column {column}: {message}"));
}

#[test]
fn errors_name_column_expectation_and_remedy() {
    let bound = "bound names are `alpha`, `beta`, `gains`, `bias`, `c`, `v`";
    refused("d = relu(alpha*acc + row(bais))", 26, 4, &format!("nothing is bound to the name `bais`; {bound}"));
    refused("alhpa*acc", 1, 5, &format!("nothing is bound to the name `alhpa`; {bound}"));
    refused("relu(acc", 9, 1, "expected `)` after the arguments of `relu`, found the end of the text; add `)`");
    refused("acc + ", 7, 1, &format!("expected a value, found the end of the text; {}", super_values()));
    refused("acc 2", 5, 1, "`2` follows a complete expression; join values by `+ - * /`, or remove it");
    refused("e = acc", 1, 1, "an epilogue computes `d`, not `e`; begin with `d =`, or leave it out");
    refused("acc + 2x", 7, 2, "`2x` is not a number; write it as 2, 0.5 or 1e-3");
    refused(
        "acc ^ 2",
        5,
        1,
        "`^` has no meaning in an epilogue; use names, numbers, `+ - * /`, parentheses and functions",
    );
    refused(
        "acc + bias",
        7,
        4,
        "`bias` is a vector or a matrix, and how it meets D is not said; write `row(bias)` (along N), `column(bias)` (along M), `tile(bias)` or `source(bias)`",
    );
    refused(
        "acc * row(alpha)",
        11,
        5,
        "`alpha` is a scalar, but `row` takes a vector or a matrix; write `alpha` alone",
    );
    refused(
        "swoosh(acc)",
        1,
        6,
        "there is no function `swoosh`; functions are `relu`, `neg`, `leaky_relu`, `clamp`, `threshold`, `sigmoid`, `silu`, `tanh`, `tanh_fast`, `sigmoid_fast`, `silu_fast`, `hardswish`, `softplus`, `fma`, `abs`, `square`, `reciprocal`, `sqrt`, `rsqrt`, `exp`, `log`, `snake`, `d_relu`, `d_leaky_relu`, `d_sigmoid`, `d_silu`, `d_tanh`, `d_gelu`, `d_gelu_tanh`, `d_softplus`, `d_hardswish`, `d_snake`, `gelu`, `gelu_tanh`, `gelu_tanh_fast`, `softsign`, `lerp`, `max`, `min`, `lt`, `le`, `gt`, `ge`, `eq`, `ne`, `select`, `identity`, `convert`",
    );
    refused("max(acc)", 1, 3, "`max` takes 2 values, found 1; give it 2");
    refused("relu(acc, 1)", 1, 4, "`relu` takes 1 value, found 2; give it 1");
    refused("tile<f16>(bias)", 11, 4, "`bias` has elements of f32, not f16; write `tile(bias)`");
    refused("ä + acc", 1, 1, &format!("nothing is bound to the name `ä`; {bound}"));
    let nothing: [(&str, NameKind); 0] = [];
    assert_eq!(expression("beta", &nothing).unwrap_err().remedy, "no names are bound: bind it");
    assert!(expression("convert<f17>(acc)", &NAMES).unwrap_err().problem.contains("`f17` is not an element type"));
}

fn super_values() -> &'static str {
    "write `acc`, a number, a scalar's name, `row(..)`, `column(..)`, `tile(..)`, `source(..)`, a function or `(..)`"
}

#[test]
fn carets_stand_under_what_is_wrong() {
    let error = expression("d = é*acc", &NAMES).unwrap_err();
    assert_eq!(error.caret(), "d = é*acc\n    ^");
    let error = expression("d =\tacc + row(bais)", &NAMES).unwrap_err();
    assert_eq!(error.caret(), "d = acc + row(bais)\n              ^^^^");
}

#[test]
fn what_terminals_obey_is_not_shown() {
    let error = expression("acc\u{1b}[2J + \u{202e}bias", &NAMES).unwrap_err();
    assert_eq!((error.column, error.problem.as_str()), (4, "`\\u{1b}` has no meaning in an epilogue"));
    assert_eq!(error.caret(), "acc\u{fffd}[2J + \u{fffd}bias\n   ^");
    // A mark that is drawn over the letter before it.
    let error = expression("d = e\u{301}*acc", &NAMES).unwrap_err();
    assert_eq!((error.column, error.width), (6, 1));
    assert_eq!(error.caret(), "d = e\u{fffd}*acc\n     ^");
    assert!(expression("acc @ '\\", &NAMES).unwrap_err().caret().starts_with("acc @ '\\\n"));
}

/// A sign that means nothing is found where it was put, whatever stands around it.
#[test]
fn a_foreign_sign_is_found_at_its_column() {
    for text in [
        "d = relu(alpha*acc + beta*source(c) + row(bias))",
        "let z = acc / 2.5; select(gt(z, row_index), convert<bf16>(z), const<-inf>)",
        "otherwise(row<f32>(none), 0.5) - -acc * (13 + gains)",
        "quantize_rows<e4m3, e8m0, 32, atoms>(top_k_softmax<2>(acc)) + reduce_rows<atomic sum>(aux_store<f16>(mask))",
    ] {
        assert!(expression(text, &NAMES).is_ok(), "{text}: {}", expression(text, &NAMES).unwrap_err());
        for (at, _) in text.char_indices() {
            for sign in ['§', '\u{7f}', '€', '^'] {
                let broken = format!("{}{sign}{}", &text[..at], &text[at..]);
                let error = expression(&broken, &NAMES).unwrap_err();
                assert_eq!((error.column, error.width), (at + 1, 1), "{error}\n{}", error.caret());
            }
        }
    }
}

/// Words of the notation in any order.
fn jumbled() -> impl Strategy<Value = String> {
    let words: Vec<&str> = "acc source row column tile mask previous row_index const scalar otherwise select let shared1 x d relu clamp \
        lerp max eq fma neg convert aux_store aux_mask amax reduce_rows reduce_all quantize_rows top_k_softmax atomic sum per batch \
        pointer f32 e4m3 e8m0 atoms inf nan alpha beta gains bias c v ( ( ) ) < > , ; = + - * / 0 1 2 32 0.5 1e9 1e 2x . ä"
        .split_whitespace()
        .collect();
    prop::collection::vec((prop::sample::select(words), prop::sample::select(vec!["", " ", "\t"])), 0..24)
        .prop_map(|words| words.into_iter().map(|(word, space)| format!("{word}{space}")).collect())
}

#[test]
fn hostile_text_is_an_error_and_not_a_crash() {
    let deep = "(".repeat(100_000) + "acc" + &")".repeat(100_000);
    assert!(expression(&deep, &NAMES).unwrap_err().problem.contains("levels of nesting"));
    assert!(expression(&"-".repeat(100_000), &NAMES).is_err());
    assert!(
        expression(&("acc".to_owned() + &"+acc".repeat(100_000)), &NAMES).unwrap_err().problem.contains("operators")
    );
    let many = "1".to_owned() + &"+1".repeat(24);
    assert!(expression(&many, &NAMES).unwrap_err().problem.contains("25 arguments"));
    let lets: String = (0..9).map(|i| format!("let x{i} = acc; ")).collect();
    assert!(expression(&(lets + "acc"), &NAMES).unwrap_err().problem.contains("no number is free"));
    for text in [
        "",
        "d =",
        "let",
        "let x",
        "let x =",
        "convert<",
        "scalar<",
        "scalar<per>",
        "source",
        "row()",
        ",",
        "1.2.3",
        "\u{0}",
    ] {
        assert!(expression(text, &NAMES).is_err(), "{text}");
    }
}

/// Trees that a check would pass: shared values are used in their scope, and a tree has at most 24 arguments.
fn tree() -> impl Strategy<Value = &'static Node> {
    let element = prop::sample::select(Dtype::ALL);
    let leaf = prop_oneof![
        Just(Node::LoadAcc),
        Just(Node::LoadPrevious),
        prop::sample::select(&[ScalarKind::Host, ScalarKind::Pointer, ScalarKind::PerBatch][..])
            .prop_map(Node::LoadScalar),
        element.clone().prop_map(Node::LoadSource),
        element.clone().prop_map(Node::LoadRow),
        element.clone().prop_map(Node::LoadColumn),
        element.clone().prop_map(Node::LoadTile),
        (0u8..8).prop_map(Node::Shared),
    ]
    .prop_map(intern);
    let operators =
        [Operator::Plus, Operator::Minus, Operator::Times, Operator::Over, Operator::Maximum, Operator::Minimum];
    leaf.prop_recursive(5, 24, 3, move |inner| {
        prop_oneof![
            4 => (prop::sample::select(operators.to_vec()), inner.clone(), inner.clone()).prop_map(|(op, a, b)| Node::Combine(op, a, b)),
            1 => inner.clone().prop_map(|a| Node::Apply(Softsign::FUNCTION, [Some(a), None, None])),
            1 => inner.clone().prop_map(|a| Node::Apply(NEG, [Some(a), None, None])),
            1 => (inner.clone(), inner.clone(), inner.clone()).prop_map(|(a, b, c)| Node::Apply(LERP, [Some(a), Some(b), Some(c)])),
            1 => (element.clone(), inner.clone()).prop_map(|(t, a)| Node::Convert(t, a)),
            2 => (0u8..8, inner.clone(), inner).prop_map(|(i, v, b)| Node::Bind(i, v, b)),
        ]
        .prop_map(intern)
    })
    .prop_filter("too many arguments", |n| n.arguments() <= 24)
    .prop_filter_map("a shared value out of scope", |n| bound(n, 0))
}

/// The tree with shared values that are not in scope replaced by the accumulator; none if a value is bound twice.
fn bound(node: &'static Node, scope: u8) -> Option<&'static Node> {
    Some(intern(match *node {
        Node::Shared(i) if scope >> i & 1 == 0 => Node::LoadAcc,
        Node::Bind(i, ..) if scope >> i & 1 == 1 => return None,
        Node::Bind(i, v, b) => Node::Bind(i, bound(v, scope)?, bound(b, scope | 1 << i)?),
        Node::Combine(op, a, b) => Node::Combine(op, bound(a, scope)?, bound(b, scope)?),
        Node::Convert(t, a) => Node::Convert(t, bound(a, scope)?),
        Node::Apply(f, [a, b, c]) => {
            let child = |n: Option<&'static Node>| n.map(|n| bound(n, scope).ok_or(())).transpose().ok();
            Node::Apply(f, [child(a)?, child(b)?, child(c)?])
        }
        leaf => leaf,
    }))
}

proptest! {
    #[test]
    fn what_a_tree_displays_reads_back_as_the_tree(node in tree()) {
        prop_assert!(node.scope(0).is_ok());
        let text = node.to_string();
        let nothing: [(&str, NameKind); 0] = [];
        let back = expression_with(&text, &nothing, &functions()).map_err(|e| TestCaseError::fail(format!("{e}\n{}", e.caret())))?;
        prop_assert_eq!(back.node, node, "{}", text);
        prop_assert_eq!(back.arguments.len(), node.arguments());
    }

    #[test]
    fn any_words_are_a_tree_that_reads_back_or_an_error_within_the_text(text in jumbled()) {
        match expression(&text, &NAMES) {
            Ok(parsed) => {
                let nothing: [(&str, NameKind); 0] = [];
                let back = expression(&parsed.node.to_string(), &nothing).map_err(|e| TestCaseError::fail(format!("{text}: {e}")))?;
                prop_assert_eq!(back.node, parsed.node, "{}", text);
            }
            Err(e) => {
                let length = text.chars().count();
                prop_assert!(e.column >= 1 && e.column <= length + 1 && e.width >= 1, "{}", e);
                prop_assert!(e.column + e.width - 1 <= length.max(e.column), "{}", e);
                let caret = e.caret();
                let (shown, below) = caret.split_once('\n').unwrap();
                prop_assert_eq!(shown.chars().count(), length);
                prop_assert_eq!(below.find('^'), Some(e.column - 1));
            }
        }
    }

    #[test]
    fn any_text_parses_or_is_an_error(text in "[acdrelubsowht0-9.+*/()<>,;= äé-]{0,40}") {
        if let Err(e) = expression(&text, &NAMES) {
            prop_assert!(e.column >= 1 && e.column <= text.chars().count() + 1);
            prop_assert!(!e.caret().is_empty());
        }
    }
}

#[test]
fn blocks_and_rows_are_written_as_they_display() {
    let names = [("f", NameKind::Output(Dtype::E8m0)), ("c", NameKind::Operand(Dtype::F16))];
    let text = "quantize_rows<e4m3, e8m0, 32>(relu(acc))";
    assert_eq!(expression(text, &names).unwrap().node.to_string(), text);
    let text = "top_k_softmax<4>(quantize_columns<e2m1, e4m3, 16, atoms>(acc))";
    assert_eq!(expression(text, &names).unwrap().node.to_string(), text);
    let named = expression("quantize_rows<e4m3, e8m0, 32>(f, acc + source(c))", &names).unwrap();
    assert_eq!(named.names().collect::<Vec<_>>(), ["f", "c"]);
    let refused = |text: &str| expression(text, &names).unwrap_err();
    for (text, column, part) in [
        ("quantize_rows(f, acc)", 14, "expected `<` and a block format after `quantize_rows`"),
        ("quantize_rows<e9, e8m0, 32>(f, acc)", 15, "`e9` is not an element type; write the element"),
        ("quantize_rows<e4m3, e8m0>(f, acc)", 25, "expected `,` after the element type"),
        ("quantize_rows<e4m3, e8m0, 3.5>(f, acc)", 27, "expected how many values share a scale factor, found `3.5`"),
        ("quantize_rows<f16, e8m0, 32>(f, acc)", 15, "there are no blocks of 32 elements of f16"),
        ("quantize_rows<e4m3, e8m0, 48>(f, acc)", 15, "there are no blocks of 48 elements of e4m3"),
        ("quantize_rows<e4m3, f32, 128, atoms>(f, acc)", 15, "in atoms only the latter two"),
        ("quantize_rows<e4m3, e8m0, 32, tiled>(f, acc)", 31, "`tiled` is not how scale factors lie"),
        ("quantize_rows<e4m3, e8m0, 32>(c, acc)", 31, "`c` is read, and `quantize_rows` stores"),
        ("top_k_softmax(acc)", 14, "expected `<` and how many values are kept"),
        ("top_k_softmax<3>(acc)", 15, "expected 2 or 4 values that are kept, found `3`"),
    ] {
        let error = refused(text);
        assert!(error.to_string().contains(part) && error.column == column, "{text}: {error}");
    }
}

#[test]
fn sinks_name_what_they_store_in() {
    let names = [
        ("z", NameKind::Output(Dtype::E4m3)),
        ("s", NameKind::Output(Dtype::F32)),
        ("c", NameKind::Operand(Dtype::F16)),
    ];
    let parsed = expression("d = relu(aux_store(z, amax(s, acc + source(c))))", &names).unwrap();
    assert_eq!(parsed.node.to_string(), "relu(aux_store<e4m3>(amax(acc + source<f16>)))");
    assert_eq!(parsed.names().collect::<Vec<_>>(), ["z", "s", "c"]);
    let text = "reduce_rows<sum>(reduce_columns<atomic sum_of_squares>(reduce_all<max>(aux_mask(amax(acc)))))";
    let unnamed = expression(text, &names).unwrap();
    assert_eq!(unnamed.node.to_string(), text);
    assert_eq!((unnamed.arguments.len(), unnamed.node.arguments()), (5, 5));
    let refused = |text: &str| expression(text, &names).unwrap_err().to_string();
    for (text, part) in [
        ("aux_store(acc)", "what `aux_store` stores in is not said"),
        ("aux_store(x, acc)", "nothing is bound to the name `x`"),
        ("aux_store<f16>(z, acc)", "`z` has elements of e4m3, not f16"),
        ("amax(c, acc)", "`c` is read, and `amax` stores in its first argument"),
        ("amax(x, acc)", "nothing is bound to the name `x`"),
        ("reduce_rows(acc)", "expected `<` and a reduction after `reduce_rows`"),
        ("reduce_rows<mean>(acc)", "`mean` is not a reduction"),
        ("acc + z", "`z` is an output, which has no value"),
        ("acc + tile(z)", "`z` is an output, but `tile` reads"),
    ] {
        assert!(refused(text).contains(part), "{text}: {}", refused(text));
    }
}
