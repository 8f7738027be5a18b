//! Fresh random problems: extents, majors, paddings, alignments, types, epilogues, batches, tiles.

use std::collections::BTreeMap;

use warpwright_numeric::Dtype;

use crate::case::{BindKind, BindSpec, Case, Expect, OperandSpec, Order, Plan};
use crate::pattern::Pattern;
use crate::random::draw;

/// Draws one number after the other.
#[derive(Clone, Debug)]
pub struct Random {
    seed: u64,
    drawn: u64,
}

impl Random {
    /// From a seed.
    pub fn new(seed: u64) -> Random {
        Random { seed, drawn: 0 }
    }
    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        self.drawn += 1;
        (draw(self.seed, self.drawn) % n as u64) as usize
    }
}

fn pick<T: Copy>(random: &mut Random, from: &[T]) -> T {
    from[random.below(from.len())]
}

/// One problem; `small` keeps extents below 140.
pub fn random_case(random: &mut Random, name: String, small: bool) -> Case {
    let extent = |random: &mut Random| match random.below(4) {
        0 => 1 + random.below(20),
        1 => pick(random, &[16, 32, 63, 64, 65, 127, 128, 129, 192, 255, 256, 257]),
        _ if small => 1 + random.below(140),
        _ => 1 + random.below(600),
    };
    let (m, n) = (extent(random), extent(random));
    let k = if random.below(12) == 0 { random.below(3) } else { extent(random) };
    let batch = pick(random, &[1, 1, 1, 2, 3]);
    use Dtype::{Bf16, E4m3, E5m2, F16, F32, F64, I8, I32, Tf32, U8};
    let a = pick(random, &[F16, F16, Bf16, Bf16, Tf32, F32, F64, I8, U8, E4m3, E5m2]);
    let b = match a {
        I8 | U8 => pick(random, &[I8, U8]),
        E4m3 | E5m2 => pick(random, &[E4m3, E5m2]),
        other => other,
    };
    let integer = a.is_integer();
    let d = if integer { pick(random, &[I32, I32, I8, F32]) } else { pick(random, &[a, F32, F16, Bf16]) };
    // Random integers of 8 bits are exact anyway.
    let exact = integer || random.below(3) > 0;
    let mut operand = |dtype: Dtype, may_broadcast: bool| OperandSpec {
        dtype: Some(dtype),
        order: pick(random, &[Order::Row, Order::Column]),
        pad: pick(random, &[0, 0, 1, 2, 4, 7, 8, 16]),
        offset: pick(random, &[0, 0, 0, 1, 2, 3, 4, 8]),
        batch_stride: if may_broadcast && random.below(5) == 0 { Some(0) } else { None },
        data: None,
    };
    let mut case = Case {
        name,
        edge: None,
        m,
        n,
        k,
        batch,
        a: operand(a, true),
        b: operand(b, true),
        c: operand(d, true),
        d: operand(d, false),
        acc: None,
        epilogue: String::new(),
        scalars: BTreeMap::new(),
        bind: BTreeMap::new(),
        plan: Plan::default(),
        only: None,
        expect: if exact { Expect::Exact } else { Expect::Bound },
    };
    case.d.data = Some(if exact { Pattern::Integers(-3, 3) } else { Pattern::Normal });
    let scalars = [0.0, 1.0, -1.0, 0.5, 2.0];
    case.scalars = BTreeMap::from([("alpha".into(), pick(random, &scalars)), ("beta".into(), pick(random, &scalars))]);
    let bind = |kind, dtype, stride| BindSpec {
        kind,
        dtype: Some(dtype),
        order: Order::Row,
        pad: 0,
        offset: 0,
        batch_stride: stride,
        data: None,
    };
    let t = pick(random, &[F32, a]);
    case.bind = BTreeMap::from([
        ("bias".into(), bind(BindKind::Row, t, pick(random, &[0, n, n + 3]))),
        ("shift".into(), bind(BindKind::Column, t, pick(random, &[0, m, m + 1]))),
    ]);
    case.epilogue = pick(
        random,
        &[
            "d = acc",
            "d = alpha*acc",
            "d = alpha*acc + beta*source(c)",
            "d = relu(alpha*acc + row(bias) + beta*source(c))",
            "d = acc + column(shift)",
            "d = alpha*acc + beta*previous",
            "d = max(acc - row(bias), column(shift)) - source(c)",
            "d = min(alpha*acc + row(bias)*column(shift), 8)",
        ],
    )
    .into();
    // What the text does not name is not bound.
    let text = case.epilogue.clone();
    case.bind.retain(|name, _| text.contains(name.as_str()));
    case.scalars.retain(|name, _| text.contains(name.as_str()));
    if a.bits() == 16 && random.below(3) == 0 {
        let (tile, stages) = pick(
            random,
            &[
                ([128, 128, 32], 4),
                ([128, 256, 64], 3),
                ([256, 128, 32], 3),
                ([64, 64, 64], 5),
                ([128, 64, 64], 2),
                ([64, 128, 32], 8),
                ([16, 64, 64], 4),
                ([32, 32, 32], 3),
                ([96, 192, 32], 3),
                ([48, 80, 16], 4),
            ],
        );
        case.plan.tile = Some(tile);
        case.plan.stages = Some(stages);
    }
    case
}
