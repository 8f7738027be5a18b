//! What the hardware is told of a layout: tensor maps and matrix descriptors.

use super::args::{Common, Hardware};
use super::json::{Json, TABLE};
use super::operation::{major_of, swizzle_of};
use super::text::Notation;
use std::fmt;
use warpwright::layout::descriptor::SmemDescriptor;
use warpwright::layout::smem::SmemSwizzle;
use warpwright::layout::tma::TensorMap;

const fn name(swizzle: SmemSwizzle) -> &'static str {
    match swizzle {
        SmemSwizzle::None => "INTER",
        SmemSwizzle::B32 => "SW32",
        SmemSwizzle::B64 => "SW64",
        SmemSwizzle::B128 => "SW128",
        SmemSwizzle::B128Atom32 => "SW128_32B",
    }
}

/// Boxes that are shown; the others follow in the same way.
const SHOWN: i64 = 16;

/// How TMA moves a tile.
pub struct Map(TensorMap);

impl Map {
    pub fn of(global: &String, shared: &String, bits: u32, common: &Common) -> anyhow::Result<Map> {
        let n = Notation::of([global, shared], common.dynamic);
        Ok(Map(TensorMap::of(&n.layout("the global side of tma", global)?, &n.composed(shared)?, bits)?))
    }

    /// Where the first `most` boxes begin in the tile and in shared memory.
    fn first(&self, most: i64) -> impl Iterator<Item = (Vec<i64>, i64)> {
        (0..most).map_while(|n| Some((self.0.coordinates(n)?, self.0.shared_offset(n)?)))
    }

    pub fn json<'a>(&self, json: &'a mut Json) -> &'a mut Json {
        let map = &self.0;
        json.raw("{\"modes\":").ints(map.modes().iter().map(|m| *m as i64));
        json.raw(",\"extents\":").ints(map.extents().iter().map(|e| *e as i64));
        json.raw(",\"byte_strides\":").ints(map.byte_strides().iter().map(|s| *s as i64));
        json.raw(",\"box\":").ints(map.box_extents().iter().map(|e| i64::from(*e)));
        json.raw(",\"swizzle\":").string(name(map.swizzle()));
        let left_out = (map.boxes() - TABLE).max(0);
        json.raw(",\"boxes\":").int(map.boxes()).raw(",\"left_out\":").int(left_out);
        json.raw(",\"at\":").each(self.first(TABLE), |json, (at, place)| {
            json.raw("{\"coordinates\":").ints(at).raw(",\"shared\":").int(place).raw("}");
        });
        json.raw("}")
    }
}

impl fmt::Display for Map {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let map = &self.0;
        for (d, mode) in map.modes().iter().enumerate() {
            write!(f, "dimension {d}: mode {mode}, extent {}, box {}", map.extents()[d], map.box_extents()[d])?;
            match d.checked_sub(1).map(|d| map.byte_strides()[d]) {
                Some(stride) => writeln!(f, ", {stride} bytes apart")?,
                None => writeln!(f, ", contiguous")?,
            }
        }
        write!(f, "swizzle {}", name(map.swizzle()))?;
        for (n, (at, place)) in self.first(SHOWN).enumerate() {
            write!(f, "\nbox {n} from {at:?} to +{place}")?;
        }
        if map.boxes() > SHOWN { write!(f, "\nand so on, {} boxes", map.boxes()) } else { Ok(()) }
    }
}

/// The descriptor of an operand's tile.
pub struct Descriptor(SmemDescriptor);

impl Descriptor {
    pub fn of(tile: &String, hardware: &Hardware, common: &Common) -> anyhow::Result<Descriptor> {
        let tile = Notation::of([tile], common.dynamic).layout("descriptor", tile)?;
        let (major, swizzle) = (major_of(&hardware.major)?, swizzle_of(&hardware.swizzle)?);
        Ok(Descriptor(SmemDescriptor::of(&tile, major, swizzle, hardware.bits)?))
    }

    pub fn json<'a>(&self, json: &'a mut Json) -> &'a mut Json {
        let d = &self.0;
        json.raw("{\"leading\":").int(d.leading.into()).raw(",\"stride\":").int(d.stride.into());
        json.raw(",\"swizzle\":").string(name(d.swizzle));
        json.raw(",\"wgmma\":").string(&format!("{:#018x}", d.sm90(0)));
        json.raw(",\"tcgen05\":").string(&format!("{:#018x}", d.sm100(0))).raw("}")
    }
}

impl fmt::Display for Descriptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let d = &self.0;
        writeln!(f, "leading {} bytes, stride {} bytes, swizzle {}", 16 * d.leading, 16 * d.stride, name(d.swizzle))?;
        write!(f, "wgmma   {:#018x}\ntcgen05 {:#018x}", d.sm90(0), d.sm100(0))
    }
}
