//! Engines: where a tensor's elements are.

use core::fmt;
use core::marker::PhantomData;

use generic_array::ArrayLength;

use crate::Fragment;

/// Which memory elements lie in. It says how a GPU reaches them; the host reads slices of any space.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum MemorySpace {
    /// Not said.
    #[default]
    Generic,
    /// Global memory.
    Global,
    /// Shared memory.
    Shared,
    /// Registers.
    Register,
    /// Tensor memory of SM100.
    Tensor,
}

impl fmt::Display for MemorySpace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Generic => "ptr",
            Self::Global => "gmem_ptr",
            Self::Shared => "smem_ptr",
            Self::Register => "rmem_ptr",
            Self::Tensor => "tmem_ptr",
        })
    }
}

/// A run of elements that a layout's offsets count.
pub trait Engine {
    /// What lies there.
    type Element: Copy;

    /// The number of elements.
    fn len(&self) -> usize;

    /// Whether there is none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The memory that they lie in.
    fn space(&self) -> MemorySpace {
        MemorySpace::Generic
    }
}

/// An engine that the host can read.
pub trait Read: Engine {
    /// The element at `at`, if there is one.
    fn read(&self, at: usize) -> Option<Self::Element>;
}

/// An engine that the host can write.
pub trait Write: Read {
    /// Writes the element at `at`; `None`, with nothing written, where there is none.
    #[must_use]
    fn write(&mut self, at: usize, value: Self::Element) -> Option<()>;
}

impl<T: Copy> Engine for [T] {
    type Element = T;

    fn len(&self) -> usize {
        <[T]>::len(self)
    }
}

impl<T: Copy> Read for [T] {
    fn read(&self, at: usize) -> Option<T> {
        self.get(at).copied()
    }
}

impl<T: Copy> Write for [T] {
    fn write(&mut self, at: usize, value: T) -> Option<()> {
        *self.get_mut(at)? = value;
        Some(())
    }
}

impl<T: Copy> Engine for Vec<T> {
    type Element = T;

    fn len(&self) -> usize {
        Vec::len(self)
    }
}

impl<T: Copy> Read for Vec<T> {
    fn read(&self, at: usize) -> Option<T> {
        self.get(at).copied()
    }
}

impl<T: Copy> Write for Vec<T> {
    fn write(&mut self, at: usize, value: T) -> Option<()> {
        self[..].write(at, value)
    }
}

impl<T: Copy, N: ArrayLength> Engine for Fragment<T, N> {
    type Element = T;

    fn len(&self) -> usize {
        N::USIZE
    }

    fn space(&self) -> MemorySpace {
        MemorySpace::Register
    }
}

impl<T: Copy, N: ArrayLength> Read for Fragment<T, N> {
    fn read(&self, at: usize) -> Option<T> {
        self.values().get(at).copied()
    }
}

impl<T: Copy, N: ArrayLength> Write for Fragment<T, N> {
    fn write(&mut self, at: usize, value: T) -> Option<()> {
        self.values_mut().write(at, value)
    }
}

macro_rules! by_reference {
    ($reference:ty) => {
        impl<E: Engine + ?Sized> Engine for $reference {
            type Element = E::Element;

            fn len(&self) -> usize {
                (**self).len()
            }

            fn space(&self) -> MemorySpace {
                (**self).space()
            }
        }

        impl<E: Read + ?Sized> Read for $reference {
            fn read(&self, at: usize) -> Option<E::Element> {
                (**self).read(at)
            }
        }
    };
}
by_reference!(&E);
by_reference!(&mut E);

impl<E: Write + ?Sized> Write for &mut E {
    fn write(&mut self, at: usize, value: E::Element) -> Option<()> {
        (**self).write(at, value)
    }
}

/// An engine said to lie in a memory space.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tagged<E> {
    engine: E,
    space: MemorySpace,
}

/// Elements in global memory.
pub const fn gmem<E>(engine: E) -> Tagged<E> {
    Tagged { engine, space: MemorySpace::Global }
}

/// Elements in shared memory.
pub const fn smem<E>(engine: E) -> Tagged<E> {
    Tagged { engine, space: MemorySpace::Shared }
}

/// Elements in registers.
pub const fn rmem<E>(engine: E) -> Tagged<E> {
    Tagged { engine, space: MemorySpace::Register }
}

/// Elements in tensor memory.
pub const fn tmem<E>(engine: E) -> Tagged<E> {
    Tagged { engine, space: MemorySpace::Tensor }
}

impl<E: Engine> Engine for Tagged<E> {
    type Element = E::Element;

    fn len(&self) -> usize {
        self.engine.len()
    }

    fn space(&self) -> MemorySpace {
        self.space
    }
}

impl<E: Read> Read for Tagged<E> {
    fn read(&self, at: usize) -> Option<E::Element> {
        self.engine.read(at)
    }
}

impl<E: Write> Write for Tagged<E> {
    fn write(&mut self, at: usize, value: E::Element) -> Option<()> {
        self.engine.write(at, value)
    }
}

/// An address of `len` elements that the host need not be able to reach, as device memory: a tensor of it can be sliced,
/// tiled and partitioned like any other, and says where its elements are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pointer<T> {
    address: u64,
    len: usize,
    element: PhantomData<fn() -> T>,
}

impl<T> Pointer<T> {
    /// `len` elements at `address`.
    pub const fn new(address: u64, len: usize) -> Self {
        Self { address, len, element: PhantomData }
    }

    /// The address of the first element.
    pub const fn address(&self) -> u64 {
        self.address
    }

    /// The address of the element at `at`, of bytes or more; `None` where there is no such element.
    pub const fn address_of(&self, at: usize) -> Option<u64> {
        if at >= self.len {
            return None;
        }
        match (at as u64).checked_mul(size_of::<T>() as u64) {
            Some(bytes) => self.address.checked_add(bytes),
            None => None,
        }
    }

    /// The elements as a slice.
    ///
    /// # Safety
    /// The address must be one of this process, aligned for `T`, with `len` initialised elements that nobody writes
    /// during `'a`.
    pub const unsafe fn as_slice<'a>(self) -> &'a [T] {
        // SAFETY: the caller's promise is that of `from_raw_parts`.
        unsafe { core::slice::from_raw_parts(self.address as *const T, self.len) }
    }
}

impl<T: Copy> Engine for Pointer<T> {
    type Element = T;

    fn len(&self) -> usize {
        self.len
    }
}
