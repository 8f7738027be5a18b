use super::*;
use crate::{EpilogueFunction, host};
use warpwright_spec::HostFn;

type Unary = (fn(f32) -> f32, fn(f64) -> f64);
type Binary = (fn(f32, f32) -> f32, fn(f64, f64) -> f64);

fn unary(f: Function) -> Unary {
    let HostFn::Unary(single, double) = f.host else { panic!("{} takes more values", f.name) };
    (single, double)
}

fn binary(f: Function) -> Binary {
    let HostFn::Binary(single, double) = f.host else { panic!("{} takes other values", f.name) };
    (single, double)
}

#[test]
fn names_are_identifiers_and_unique() {
    let names: Vec<_> = all().map(|f| f.name).collect();
    for (i, name) in names.iter().enumerate() {
        assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'), "{name}");
        assert!(!names[..i].contains(name), "{name} twice");
    }
}

#[test]
fn nan_gives_nan() {
    for f in all() {
        let at = |nan: usize, i: usize| if i == nan { f32::NAN } else { 0.5 };
        for nan in 0..f.host.arity() {
            // The bounds of `clamp`, the limit of `threshold` and values that are not chosen may be anything.
            if matches!(f.name, "clamp" | "threshold" | "leaky_relu") && nan > 0 || f.name == "d_leaky_relu" && nan == 2
            {
                continue;
            }
            let y = match f.host {
                HostFn::Unary(single, _) => single(at(nan, 0)),
                HostFn::Binary(single, _) => single(at(nan, 0), at(nan, 1)),
                HostFn::Ternary(single, _) => single(at(nan, 0), at(nan, 1), at(nan, 2)),
            };
            assert!(y.is_nan(), "{} of NaN in place {nan} is {y}", f.name);
        }
    }
}

#[test]
fn infinities_have_their_limits() {
    let inf = f32::INFINITY;
    let limits = [
        (Sigmoid::FUNCTION, 0.0, 1.0),
        (Silu::FUNCTION, 0.0, inf),
        (Tanh::FUNCTION, -1.0, 1.0),
        (TanhFast::FUNCTION, -1.0, 1.0),
        (SigmoidFast::FUNCTION, 0.0, 1.0),
        (SiluFast::FUNCTION, 0.0, inf),
        (GeluTanhFast::FUNCTION, 0.0, inf),
        (Gelu::FUNCTION, 0.0, inf),
        (GeluTanh::FUNCTION, 0.0, inf),
        (HardSwish::FUNCTION, 0.0, inf),
        (Softplus::FUNCTION, 0.0, inf),
        (Exp::FUNCTION, 0.0, inf),
        (Reciprocal::FUNCTION, 0.0, 0.0),
        (Square::FUNCTION, inf, inf),
        (Abs::FUNCTION, inf, inf),
        (crate::RELU, 0.0, inf),
    ];
    for (f, low, high) in limits {
        let (single, double) = unary(f);
        assert_eq!((single(-inf), single(inf)), (low, high), "{}", f.name);
        assert_eq!((double(f64::NEG_INFINITY) as f32, double(f64::INFINITY) as f32), (low, high), "{}", f.name);
        assert!(single(-1e30).is_finite() && double(-1e300).is_finite() || f.name == "square", "{}", f.name);
    }
    let slopes = [
        (DRelu::FUNCTION, 0.0, 1.0),
        (DSigmoid::FUNCTION, 0.0, 0.0),
        (DSilu::FUNCTION, 0.0, 1.0),
        (DTanh::FUNCTION, 0.0, 0.0),
        (DGelu::FUNCTION, 0.0, 1.0),
        (DGeluTanh::FUNCTION, 0.0, 1.0),
        (DSoftplus::FUNCTION, 0.0, 1.0),
        (DHardSwish::FUNCTION, 0.0, 1.0),
    ];
    for (f, low, high) in slopes {
        let (single, double) = binary(f);
        assert_eq!((single(1.0, -inf), single(1.0, inf)), (low, high), "{}", f.name);
        assert_eq!(
            (double(1.0, f64::NEG_INFINITY) as f32, double(1.0, f64::INFINITY) as f32),
            (low, high),
            "{}",
            f.name
        );
    }
    let HostFn::Binary(snake, _) = Snake::FUNCTION.host else { panic!("snake takes two values") };
    assert_eq!((snake(inf, 2.0), snake(-inf, 2.0)), (inf, -inf));
}

// Slopes against differences of the functions themselves.
#[test]
fn derivatives_are_slopes() {
    let pairs = [
        (Sigmoid::FUNCTION, DSigmoid::FUNCTION),
        (Silu::FUNCTION, DSilu::FUNCTION),
        (Tanh::FUNCTION, DTanh::FUNCTION),
        (Gelu::FUNCTION, DGelu::FUNCTION),
        (GeluTanh::FUNCTION, DGeluTanh::FUNCTION),
        (Softplus::FUNCTION, DSoftplus::FUNCTION),
        (HardSwish::FUNCTION, DHardSwish::FUNCTION),
    ];
    for (f, d) in pairs {
        let ((_, f64s), (_, slope)) = (unary(f), binary(d));
        for i in -60..60 {
            let (z, h) = (f64::from(i) * 0.11 + 0.003, 1e-5);
            let difference = (f64s(z + h) - f64s(z - h)) / (2.0 * h);
            let given = slope(2.0, z) / 2.0;
            assert!((difference - given).abs() < 1e-8, "{} at {z}: {given}, not {difference}", d.name);
        }
    }
    let (HostFn::Binary(_, snake), HostFn::Ternary(_, slope)) = (Snake::FUNCTION.host, DSnake::FUNCTION.host) else {
        panic!("snake takes two values")
    };
    let difference = (snake(0.7 + 1e-5, 1.5) - snake(0.7 - 1e-5, 1.5)) / 2e-5;
    assert!((slope(1.0, 0.7, 1.5) - difference).abs() < 1e-8);
}

// The published values that tell the forms of GELU apart.
#[test]
fn gelu_is_one_form_or_the_other() {
    let at = [-3.0, -1.0, 1.0, 2.25];
    let erf = [-0.0040497, -0.1586553, 0.8413447, 2.2224949];
    let tanh = [-0.0036374, -0.158808, 0.841192, 2.2227987];
    for (i, x) in at.into_iter().enumerate() {
        assert!((unary(Gelu::FUNCTION).0(x) - erf[i]).abs() < 2e-7);
        assert!((unary(GeluTanh::FUNCTION).0(x) - tanh[i]).abs() < 2e-7);
    }
}

#[test]
fn segments_evaluate_functions() {
    let mut scratch = host::Scratch::new();
    let program = crate::Program::of(
        &warpwright_spec::Node::Apply(Silu::FUNCTION, [Some(&warpwright_spec::Node::LoadAcc), None, None]),
        warpwright_numeric::Dtype::F32,
        warpwright_numeric::Dtype::F32,
    )
    .unwrap();
    let shape = crate::OutputShape { batch: 1, m: 1, n: 2 };
    let bound = program.bind(&crate::Args::new(), shape, warpwright_runtime::Space::Host).unwrap();
    let at = host::Segment { batch: 0, m: 0, n: 0, along: host::Along::N };
    let values = host::Evaluator::new(&program, &bound, None)
        .evaluate(at, host::Accumulators::F32(&[0.0, 1.0]), &mut scratch)
        .get(1);
    assert_eq!(values, Some(f64::from(0.731_058_6_f32)));
}
