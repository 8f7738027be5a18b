//! TMA tensor maps, derived from a global layout and the layout of a tile in shared memory.

use crate::smem::SmemSwizzle;
use crate::{ComposedLayout, IntTuple, Layout, LayoutError, Swizzle, idx2crd};

/// Most dimensions of a tensor map.
pub const MAX_RANK: usize = 5;

/// The most shared memory that a block has.
const SHARED_BYTES: i64 = 232_448;
/// Where a box may begin in shared memory.
const BOX_ALIGNMENT: i64 = 128;

/// What a tensor map must say so that TMA moves a tile between global memory and its place in shared memory.
///
/// Dimension 0 is the contiguous one. A tile whose shared layout is not one box in order takes several copies: box `n`
/// begins at [`coordinates`](Self::coordinates) and fills the shared memory from [`shared_offset`](Self::shared_offset).
///
/// ```
/// use warpwright_layout::smem::{Major, SmemSwizzle, atom};
/// use warpwright_layout::tma::TensorMap;
/// use warpwright_layout::{int_tuple, layout};
///
/// // A row-major bf16 matrix and a 128 by 128 tile of it, in two halves of 128-byte rows.
/// let tile = atom(Major::K, SmemSwizzle::B128, 16)?.tile_to_shape(&int_tuple!((128, 128)), None)?;
/// let map = TensorMap::of(&layout!((4096, 1024):(1024, 1)), &tile, 16)?;
/// assert_eq!((map.extents(), map.byte_strides(), map.box_extents()), (&[1024, 4096][..], &[2048][..], &[64, 128][..]));
/// assert_eq!((map.swizzle(), map.boxes()), (SmemSwizzle::B128, 2));
/// assert_eq!((map.coordinates(1), map.shared_offset(1)), (Some(vec![64, 0]), Some(128 * 64)));
/// # Ok::<(), warpwright_layout::LayoutError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TensorMap {
    /// The mode of the global layout that each dimension is.
    modes: Vec<usize>,
    extents: Vec<u64>,
    byte_strides: Vec<u64>,
    box_extents: Vec<u32>,
    swizzle: SmemSwizzle,
    /// Place in shared memory → linear coordinate in the tile.
    places: Layout,
    tile: IntTuple,
}

/// A run of neighbours in shared memory: `extent` coordinates of one mode, `step` apart.
struct Run {
    mode: usize,
    extent: i64,
    step: i64,
}

impl TensorMap {
    /// The map for tiles of `tile`, whose modes are those of `global`: mode `i` of both is the same coordinate. Elements have
    /// `element_bits` bits. Dynamic integers count by their values.
    ///
    /// # Errors
    /// [`LayoutError::Tma`] with the rule of TMA that is broken, [`LayoutError::TmaSwizzle`] for a swizzle that it has not, [`LayoutError::Rank`] when the modes do not correspond.
    pub fn of(global: &Layout, tile: &ComposedLayout, element_bits: u32) -> Result<Self, LayoutError> {
        let rank = global.rank();
        if tile.rank() != rank {
            return Err(LayoutError::Rank { operation: "TMA tile", found: tile.rank(), needed: rank });
        }
        if rank == 0 || rank > MAX_RANK || global.shape().leaves() != rank {
            return Err(refused("a tensor has 1 to 5 modes, each one integer", global.shape().leaves() as i64));
        }
        if !matches!(element_bits, 4 | 8 | 16 | 32 | 64) {
            return Err(refused("elements must have 4, 8, 16, 32 or 64 bits", element_bits.into()));
        }
        let bits = i128::from(element_bits);
        let swizzle = swizzle_of(&tile.swizzle, element_bits)?;
        if tile.offset.value() != 0 {
            return Err(LayoutError::Offset { offset: tile.offset });
        }
        let layout = tile.layout.to_static();
        let places = layout.right_inverse()?;
        let (size, reached) = (tile.size().value(), places.size().value());
        if reached != size {
            return Err(refused("the elements that lie in shared memory without gaps must be the whole tile", reached));
        }
        let extents = layout.shape().product_each();
        let (order, boxes) = in_order(&runs(&places, &extents), rank);
        let mut modes = order.clone();
        modes.extend((0..rank).filter(|mode| !order.contains(mode)));
        let byte = |elements: i64| (i128::from(elements) * bits / 8).clamp(i64::MIN.into(), i64::MAX.into()) as i64;
        let aligned = |elements: i64| i128::from(elements) * bits % (8 * 16) == 0;
        let map = Self {
            extents: modes.iter().map(|&mode| global.shape().get(mode).value() as u64).collect(),
            byte_strides: modes[1..]
                .iter()
                .map(|&mode| match global.shape().get(mode).value() {
                    // Nothing steps along it, but the driver checks its stride as it does the others.
                    1 => 16,
                    _ => byte(global.stride().get(mode).value()) as u64,
                })
                .collect(),
            box_extents: modes.iter().map(|&mode| boxes[mode] as u32).collect(),
            swizzle,
            places,
            tile: extents,
            modes,
        };
        if element_bits == 4 && !map.extents[0].is_multiple_of(2) {
            return Err(refused("the contiguous extent of 4-bit elements must be even", map.extents[0] as i64));
        }
        map.check(global, byte, aligned)?;
        Ok(map)
    }

    /// The hardware's rules.
    fn check(
        &self,
        global: &Layout,
        byte: impl Fn(i64) -> i64,
        aligned: impl Fn(i64) -> bool,
    ) -> Result<(), LayoutError> {
        let first = global.stride().get(self.modes[0]).value();
        if first != 1 {
            return Err(refused("what is contiguous in shared memory must have stride 1 in global memory", first));
        }
        for &mode in &self.modes[1..] {
            let elements = global.stride().get(mode).value();
            let stride = byte(elements);
            if global.shape().get(mode).value() > 1 && (stride < 1 || !aligned(elements) || stride >= 1 << 40) {
                return Err(refused("strides must be multiples of 16 bytes, above 0 and below 2^40", stride));
            }
        }
        if let Some(extent) = self.extents.iter().find(|extent| **extent > 1 << 32) {
            return Err(refused("extents must be at most 2^32", *extent as i64));
        }
        let inner = byte(self.box_extents[0].into());
        if !aligned(self.box_extents[0].into()) {
            return Err(refused("the contiguous extent of the box must be a multiple of 16 bytes", inner));
        }
        let span = i64::from(self.swizzle.row_bytes());
        if self.swizzle != SmemSwizzle::None && inner > span {
            return Err(refused("the contiguous extent of the box must be within the swizzle's span", inner));
        }
        // Behind a swizzle a box's rows are its span apart, however short they are.
        let one_row = self.box_extents[1..].iter().all(|extent| *extent == 1);
        if self.swizzle != SmemSwizzle::None && inner < span && !one_row {
            return Err(refused("the rows of a swizzled box must be as long as the swizzle's span", inner));
        }
        let whole = byte(self.box_elements());
        if whole > SHARED_BYTES {
            return Err(refused("a box must fit shared memory, 232448 bytes", whole));
        }
        if self.boxes() > 1 && whole % BOX_ALIGNMENT != 0 {
            return Err(refused(
                "boxes must begin at multiples of 128 bytes in shared memory, so their size must be one",
                whole,
            ));
        }
        Ok(())
    }

    /// The global extents, contiguous dimension first.
    pub fn extents(&self) -> &[u64] {
        &self.extents
    }

    /// The global strides in bytes, of dimension 1 on.
    pub fn byte_strides(&self) -> &[u64] {
        &self.byte_strides
    }

    /// The extents of the box.
    pub fn box_extents(&self) -> &[u32] {
        &self.box_extents
    }

    /// The mode of the global layout that each dimension is.
    pub fn modes(&self) -> &[usize] {
        &self.modes
    }

    /// The swizzle mode.
    pub const fn swizzle(&self) -> SmemSwizzle {
        self.swizzle
    }

    /// The number of elements of a box.
    pub fn box_elements(&self) -> i64 {
        self.box_extents.iter().map(|e| i64::from(*e)).product()
    }

    /// The number of boxes of a tile.
    pub fn boxes(&self) -> i64 {
        self.places.size().value() / self.box_elements()
    }

    /// Where box `n` begins in the tile, in the map's dimensions; `None` where there is no such box.
    pub fn coordinates(&self, n: i64) -> Option<Vec<i64>> {
        let coordinate = idx2crd(self.places.eval(self.shared_offset(n)?), &self.tile);
        Some(self.modes.iter().map(|&mode| coordinate.get(mode).value()).collect())
    }

    /// The place of box `n` in shared memory, in elements before the swizzle; `None` where there is no such box.
    pub fn shared_offset(&self, n: i64) -> Option<i64> {
        (0..self.boxes()).contains(&n).then(|| n * self.box_elements())
    }
}

const fn refused(what: &'static str, value: i64) -> LayoutError {
    LayoutError::Tma { what, value }
}

/// The swizzle mode that is `swizzle` on elements.
fn swizzle_of(swizzle: &Swizzle, element_bits: u32) -> Result<SmemSwizzle, LayoutError> {
    if swizzle.is_identity() {
        return Ok(SmemSwizzle::None);
    }
    let bytes = swizzle.downcast(element_bits.into()).and_then(|bits| bits.upcast(8));
    let kinds = [SmemSwizzle::B32, SmemSwizzle::B64, SmemSwizzle::B128, SmemSwizzle::B128Atom32];
    let found = kinds.into_iter().find(|kind| Ok(kind.on_bytes()) == bytes);
    found.ok_or(LayoutError::TmaSwizzle { swizzle: *swizzle, element_bits })
}

/// What follows what in shared memory: `places` cut where it leaves one mode of the tile for the next.
fn runs(places: &Layout, tile: &IntTuple) -> Vec<Run> {
    let mut found = Vec::new();
    for (extent, stride) in places.shape().iter().zip(places.stride().iter()) {
        let (mut extent, mut stride) = (extent.value(), stride.value());
        while extent > 1 {
            // The mode whose coordinates are `stride` apart in the linear coordinate.
            let (mut mode, mut before) = (0, 1);
            while mode + 1 < tile.leaves() && before * tile.get(mode).value() <= stride {
                before *= tile.get(mode).value();
                mode += 1;
            }
            let step = stride / before;
            let part = extent.min((tile.get(mode).value() / step).max(1));
            found.push(Run { mode, extent: part, step });
            extent /= part;
            stride *= part;
        }
    }
    found
}

/// The modes in the order in which a box fills shared memory, and the extent of the box in each mode. The box ends where a
/// mode comes back after another one, or at the 256 coordinates that a box has at most.
fn in_order(runs: &[Run], rank: usize) -> (Vec<usize>, Vec<i64>) {
    const MOST: i64 = 256;
    let (mut order, mut boxes) = (Vec::new(), vec![1; rank]);
    for run in runs {
        let goes_on = order.last() == Some(&run.mode);
        if run.step != boxes[run.mode] || (!goes_on && order.contains(&run.mode)) {
            break;
        }
        let room = MOST / boxes[run.mode];
        let part = (1..=run.extent.min(room)).rev().find(|part| run.extent % part == 0).unwrap_or(1);
        if !goes_on {
            order.push(run.mode);
        }
        boxes[run.mode] *= part;
        if part < run.extent {
            break;
        }
    }
    (order, boxes)
}
