//! What the options mean, in the library's terms.

use crate::args::KernelArgs;
use crate::error::InputError;
use warpwright::spec::{self, LoaderId, default_accumulator, default_output};
use warpwright::{AccumulationId, ArchId, DeviceInfo, Dtype, GemmDesc, Mnk, Node, ScheduleId, SchedulerId, StagingId};

/// The kernel, as far as it was named.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Kernel {
    /// Which instructions may be used.
    pub arch: Option<ArchId>,
    /// Element of D.
    pub output: Option<Dtype>,
    /// Element of the accumulator.
    pub accumulator: Option<Dtype>,
    /// How D lies in memory.
    pub order_d: Option<spec::Order>,
    /// The tile.
    pub tile: Option<Mnk>,
    /// Whether A and B change places.
    pub swap_ab: Option<bool>,
    /// The cluster.
    pub cluster: Option<Mnk>,
    /// The schedule.
    pub schedule: Option<ScheduleId>,
    /// The loader.
    pub loader: Option<LoaderId>,
    /// The pipeline's depth.
    pub stages: Option<usize>,
    /// The tile scheduler.
    pub scheduler: Option<SchedulerId>,
    /// Whether sums may be kept in the instruction's own precision.
    pub fast_accumulation: bool,
    /// Where the epilogue is staged.
    pub staging: Option<StagingId>,
}

impl Kernel {
    /// Reads the options.
    pub fn of(args: &KernelArgs) -> Result<Kernel, InputError> {
        Ok(Kernel {
            arch: arch(&args.arch)?,
            output: dtype("output-type", &args.output_type)?,
            accumulator: dtype("accumulator-type", &args.accumulator_type)?,
            order_d: order("order-d", &args.order_d)?,
            tile: args.tile.as_deref().map(tile).transpose()?,
            swap_ab: answer("swap-ab", &args.swap_ab)?,
            cluster: args.cluster.as_deref().map(cluster).transpose()?,
            schedule: schedule(&args.schedule)?,
            loader: loader(&args.loader)?,
            stages: args.stages.as_deref().map(|text| count("stages", text, 1)).transpose()?,
            scheduler: scheduler(&args.scheduler)?,
            fast_accumulation: args.fast_accumulation,
            staging: staging(&args.staging)?,
        })
    }

    /// The tag of the kernel where any device may be had.
    pub fn tag(&self, a: Operand, b: Operand, epilogue: &'static Node) -> ArchId {
        self.desc(&DeviceInfo::host(), a, b, epilogue).arch
    }

    /// The kernel's description on a device. Without a tag it is the newest that the device runs; on the host, which runs
    /// all, the oldest from Sm80 up that has what the types and the other choices need.
    pub fn desc(&self, info: &DeviceInfo, a: Operand, b: Operand, epilogue: &'static Node) -> GemmDesc {
        let on = |arch: ArchId| {
            let mut desc =
                GemmDesc::new(arch, a.dtype, self.accumulator.unwrap_or_else(|| default_accumulator(a.dtype)));
            desc.b = b.dtype;
            desc.d = self.output.unwrap_or_else(|| default_output(a.dtype));
            // On a GPU the plan sees how operands lie, and takes another instruction where the principal one cannot read them.
            if info.is_host() {
                (desc.order_a, desc.order_b) = (Some(a.order), Some(b.order));
            }
            desc.order_d = Some(self.order_d.unwrap_or(spec::Order::Row));
            (desc.tile, desc.cluster, desc.stages) = (self.tile, self.cluster, self.stages);
            desc.swap_ab = self.swap_ab;
            desc.loader = self.loader;
            desc.schedule = self.schedule.unwrap_or(ScheduleId::AUTO);
            desc.scheduler = self.scheduler.unwrap_or(SchedulerId::AUTO);
            if self.fast_accumulation {
                desc.accumulation = AccumulationId::FAST_ACCUM;
            }
            desc.staging = self.staging.unwrap_or(StagingId::AUTO);
            desc.epilogue = epilogue;
            desc
        };
        match (self.arch, info.newest_tag().filter(|_| !info.is_host())) {
            (Some(arch), _) | (None, Some(arch)) => on(arch),
            (None, None) => {
                let tags = ArchId::ALL.iter().copied().filter(|&tag| tag >= ArchId::SM80);
                tags.map(on).find(|desc| desc.spec().is_ok()).unwrap_or_else(|| on(ArchId::SM80))
            }
        }
    }
}

/// What a description needs to know of A or B.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Operand {
    /// Its element.
    pub dtype: Dtype,
    /// How it lies in memory.
    pub order: spec::Order,
}

/// Reads `--device-preset`.
pub fn preset(name: &str) -> Result<DeviceInfo, InputError> {
    Ok(match name.to_ascii_lowercase().as_str() {
        "t4" => DeviceInfo::t4(),
        "a100" => DeviceInfo::a100(),
        "l40s" => DeviceInfo::l40s(),
        "h100" => DeviceInfo::h100(),
        "h200" => DeviceInfo::h200(),
        "b200" => DeviceInfo::b200(),
        _ => {
            let (given, choices) = (name.to_owned(), "t4, a100, l40s, h100, h200, b200".to_owned());
            return Err(InputError::Name { flag: "device-preset", given, what: "a device that is known", choices });
        }
    })
}

fn named<T>(
    flag: &'static str,
    text: &Option<String>,
    what: &'static str,
    find: impl Fn(&str) -> Option<T>,
    choices: impl Fn() -> String,
) -> Result<Option<T>, InputError> {
    let Some(given) = text else { return Ok(None) };
    match find(given) {
        Some(value) => Ok(Some(value)),
        None => Err(InputError::Name { flag, given: given.clone(), what, choices: choices() }),
    }
}

/// Reads an architecture.
pub fn arch(text: &Option<String>) -> Result<Option<ArchId>, InputError> {
    let choices = || ArchId::ALL.iter().map(|arch| arch.lower_name()).collect::<Vec<_>>().join(", ");
    named("arch", text, "an architecture", ArchId::from_name, choices)
}

/// Reads a schedule.
pub fn schedule(text: &Option<String>) -> Result<Option<ScheduleId>, InputError> {
    let choices = || ScheduleId::ALL.iter().map(|schedule| schedule.name()).collect::<Vec<_>>().join(", ");
    named("schedule", text, "a schedule", ScheduleId::from_name, choices)
}

/// Reads a loader.
pub fn loader(text: &Option<String>) -> Result<Option<LoaderId>, InputError> {
    let choices = || LoaderId::ALL.iter().map(|loader| loader.name()).collect::<Vec<_>>().join(", ");
    named("loader", text, "a loader", LoaderId::from_name, choices)
}

/// Reads a tile scheduler.
pub fn scheduler(text: &Option<String>) -> Result<Option<SchedulerId>, InputError> {
    let choices = || SchedulerId::ALL.iter().map(|scheduler| scheduler.name()).collect::<Vec<_>>().join(", ");
    named("scheduler", text, "a tile scheduler", SchedulerId::from_name, choices)
}

/// Reads where the epilogue is staged.
pub fn staging(text: &Option<String>) -> Result<Option<StagingId>, InputError> {
    let choices = || StagingId::ALL.iter().map(|staging| staging.name()).collect::<Vec<_>>().join(", ");
    named("staging", text, "a staging of the epilogue", StagingId::from_name, choices)
}

/// Reads an element type.
pub fn dtype(flag: &'static str, text: &Option<String>) -> Result<Option<Dtype>, InputError> {
    named(
        flag,
        text,
        "an element type",
        |name| Dtype::from_name(&name.to_ascii_lowercase()),
        || Dtype::ALL.iter().map(|d| d.name()).collect::<Vec<_>>().join(", "),
    )
}

/// Reads `row` or `column`.
pub fn order(flag: &'static str, text: &Option<String>) -> Result<Option<spec::Order>, InputError> {
    let find = |name: &str| [spec::Order::Row, spec::Order::Column].into_iter().find(|o| o.name() == name);
    named(flag, text, "an order", find, || "row, column".into())
}

/// Reads `yes` or `no`.
pub fn answer(flag: &'static str, text: &Option<String>) -> Result<Option<bool>, InputError> {
    let find = |name: &str| [("yes", true), ("no", false)].into_iter().find(|(known, _)| *known == name);
    Ok(named(flag, text, "an answer", find, || "yes, no".into())?.map(|(_, answer)| answer))
}

/// Reads a whole number.
pub fn count(flag: &'static str, text: &str, at_least: usize) -> Result<usize, InputError> {
    match digits(text) {
        Some(n) if n >= at_least => Ok(n),
        _ => Err(InputError::Count { flag, given: text.to_owned(), at_least }),
    }
}

/// Digits and nothing else: `usize::from_str` takes a sign.
fn digits(text: &str) -> Option<usize> {
    if text.bytes().all(|b| b.is_ascii_digit()) { text.parse().ok() } else { None }
}

fn extents<const N: usize>(text: &str) -> Option<[usize; N]> {
    let numbers: Option<Vec<usize>> = text.split(['x', 'X']).map(digits).collect();
    numbers?.try_into().ok()
}

/// Reads `--tile`.
pub fn tile(text: &str) -> Result<Mnk, InputError> {
    let wrong =
        || InputError::Extents { flag: "tile", given: text.to_owned(), form: "a tile MxNxK", example: "128x256x64" };
    extents(text).map(|[m, n, k]| Mnk { m, n, k }).ok_or_else(wrong)
}

/// Reads `--cluster`.
pub fn cluster(text: &str) -> Result<Mnk, InputError> {
    let wrong =
        || InputError::Extents { flag: "cluster", given: text.to_owned(), form: "a cluster MxN", example: "2x1" };
    let three = || extents(text).map(|[m, n, k]| Mnk { m, n, k });
    extents(text).map(|[m, n]| Mnk { m, n, k: 1 }).or_else(three).ok_or_else(wrong)
}

/// Reads `--shape`.
pub fn shape(text: &str) -> Result<Mnk, InputError> {
    let wrong = || InputError::Extents {
        flag: "shape",
        given: text.to_owned(),
        form: "the extents MxNxK",
        example: "4096x4096x1024",
    };
    extents(text).map(|[m, n, k]| Mnk { m, n, k }).ok_or_else(wrong)
}

/// Reads `NAME=REST`.
pub fn pair<'a>(
    flag: &'static str,
    text: &'a str,
    value: &'static str,
    example: &'static str,
) -> Result<(&'a str, &'a str), InputError> {
    match text.split_once('=') {
        Some((name, rest)) if !name.trim().is_empty() && !rest.is_empty() => Ok((name.trim(), rest)),
        _ => Err(InputError::Pair { flag, given: text.to_owned(), value, example }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_are_read() {
        assert_eq!(tile("128x256x64"), Ok(Mnk { m: 128, n: 256, k: 64 }));
        assert_eq!(cluster("2x1"), Ok(Mnk { m: 2, n: 1, k: 1 }));
        for wrong in [
            "",
            "128",
            "128x256",
            "128x256x64x2",
            "128x-1x64",
            "axbxc",
            "128 x 256 x 64",
            "+1x2x3",
            "1x2x99999999999999999999",
        ] {
            assert!(tile(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_host_takes_a_tag_that_has_the_types() {
        let tag = |dtype| {
            let operand = |order| Operand { dtype, order };
            let (a, b) = (operand(spec::Order::Row), operand(spec::Order::Column));
            Kernel::default().desc(&DeviceInfo::host(), a, b, &Node::LoadAcc).arch
        };
        assert_eq!(
            [Dtype::F16, Dtype::I8, Dtype::E4m3, Dtype::E2m1].map(tag),
            [ArchId::SM80, ArchId::SM80, ArchId::SM89, ArchId::SM100]
        );
    }

    #[test]
    fn a_wrong_name_lists_the_right_ones() {
        let text = dtype("type-a", &Some("fp16".into())).unwrap_err().to_string();
        assert_eq!(
            text,
            "--type-a `fp16` is not an element type: use one of f64, f32, tf32, f16, bf16, e4m3, e5m2, i32, i8, u8, i4, u4, e2m1, e3m2, e2m3, e8m0"
        );
    }
}
