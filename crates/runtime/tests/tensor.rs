//! Tensors and views over host memory.

use proptest::prelude::*;
use warpwright_numeric::{Element, bf16, e2m1, e3m2, e4m3, f16, i4, packed};
use warpwright_runtime::{
    AsView, AsViewMut, Device, Order, Space, Strided, Tensor, TensorError, TensorView, TensorViewMut,
};

fn ramp<T: Element>(rows: usize, cols: usize) -> Tensor<T> {
    Tensor::from_fn(rows, cols, |m, n| T::from_f64((m * cols + n) as f64 % 7.0)).unwrap()
}

#[test]
fn constructors_place_elements_where_their_layout_says() {
    let rows = ramp::<f32>(3, 4);
    assert_eq!((rows.rows(), rows.cols(), rows.batch(), rows.space()), (3, 4, 1, Space::Host));
    assert_eq!(rows.layout().strides, [12, 4, 1]);
    assert_eq!(rows.get(2, 1).unwrap(), 9.0 % 7.0);

    let columns = Strided::dense(3, 4, Order::ColumnMajor);
    let columns = Tensor::from_fn_in(columns, |_, m, n| rows.get(m, n).unwrap()).unwrap();
    assert_eq!(columns.layout().strides, [12, 1, 3]);
    assert_eq!(columns.to_vec().unwrap(), rows.to_vec().unwrap());
    assert_eq!(columns.layout().order(), Some(Order::ColumnMajor));

    let padded = Strided::padded(2, 3, Order::RowMajor, 5).unwrap().batched(2, 11);
    let batch = Tensor::<i32>::from_fn_in(padded, |b, m, n| (100 * b + 10 * m + n + 1) as i32).unwrap();
    let bytes = batch.view().raw().host_bytes().unwrap();
    let memory: Vec<i32> = bytes.chunks_exact(4).map(|x| i32::from_le_bytes(x.try_into().unwrap())).collect();
    let expected = [1, 2, 3, 0, 0, 11, 12, 13, 0, 0, 0, 101, 102, 103, 0, 0, 111, 112, 113];
    assert_eq!(memory, expected);
    assert_eq!(Tensor::full(2, 2, 1.5f64).unwrap().to_vec().unwrap(), [1.5; 4]);
    assert_eq!(Tensor::<bf16>::zeros(1, 2).unwrap().to_vec().unwrap(), [bf16::ZERO; 2]);
}

#[test]
fn a_vector_is_taken_over_and_not_copied() {
    let elements: Vec<f32> = (0..6).map(|x| x as f32).collect();
    let address = elements.as_ptr() as u64;
    let mut tensor = Tensor::from_vec(2, 3, elements).unwrap();
    assert_eq!(tensor.view().raw().address(), address);
    tensor.set(1, 2, 50.0).unwrap();
    assert_eq!(tensor.get(1, 2), Ok(50.0));
    assert_eq!(tensor.get(0, 1), Ok(1.0));
}

#[test]
fn elements_below_a_byte_are_packed() {
    let elements: Vec<i4> = (-8..7).map(|x| i4::from_f64(f64::from(x))).collect();
    let tensor = Tensor::from_vec(3, 5, elements.clone()).unwrap();
    assert_eq!(tensor.bytes(), 8);
    assert_eq!(tensor.view().raw().host_bytes().unwrap(), &*packed(&elements));
    assert_eq!(tensor.to_vec().unwrap(), elements);
    assert_eq!(tensor.view().raw().decode_at(0, 1, 0), -3.0);
    // Rows of five nibbles start inside a byte.
    assert_eq!(tensor.view().raw().alignment(), 0);

    let six = Tensor::<e3m2>::from_fn(2, 5, |m, n| e3m2::from_f64((m + n) as f64)).unwrap();
    assert_eq!(six.bytes(), 8);
    assert_eq!((0..5).map(|n| six.get(1, n).unwrap().to_f64()).collect::<Vec<_>>(), [1.0, 2.0, 3.0, 4.0, 5.0]);

    let slice = [e2m1::from_f64(1.0); 4];
    let error = slice.as_view().unwrap_err();
    assert_eq!(error, TensorError::NotPacked { dtype: warpwright_numeric::Dtype::E2m1 });
    assert!(error.to_string().contains("Tensor"), "{error}");
}

#[test]
fn views_start_at_whole_bytes() {
    let tensor = ramp::<i4>(4, 6);
    let view = tensor.view();
    assert_eq!(view.sub_cols(2..5).unwrap().to_vec().unwrap().len(), 12);
    assert_eq!(view.sub_cols(2..5).unwrap().get(1, 0), tensor.get(1, 2));
    assert!(matches!(view.sub_cols(3..5), Err(TensorError::InsideByte { element: 3, unit: 2, .. })));
    assert!(ramp::<i4>(3, 5).view().sub_rows(1..2).is_err());
    assert!(ramp::<i4>(3, 5).view().sub_rows(2..3).is_ok());
}

#[test]
fn sub_views_and_transposes_are_the_same_memory() {
    let mut tensor = ramp::<f16>(6, 8);
    let view = tensor.view();
    let part = view.sub_rows(1..4).unwrap().sub_cols(2..7).unwrap();
    assert_eq!((part.rows(), part.cols()), (3, 5));
    assert_eq!(part.get(2, 4), tensor.get(3, 6));
    assert_eq!(part.transposed().get(4, 2), tensor.get(3, 6));
    assert_eq!(part.raw().address(), view.raw().address() + 2 * (8 + 2));
    assert_eq!(part.raw().bytes(), view.raw().bytes() - 2 * (8 + 2));
    assert!(part.get(3, 0).is_err());

    let mut writable = tensor.view_mut().unwrap().sub_rows(5..6).unwrap();
    writable.set(0, 3, f16::from_f64(-2.0)).unwrap();
    assert_eq!(tensor.get(5, 3), Ok(f16::from_f64(-2.0)));
    assert_eq!(tensor.get(4, 3), Ok(f16::from_f64((4 * 8 + 3) as f64 % 7.0)));
}

#[test]
fn empty_tensors_are_tensors() {
    for (rows, cols) in [(0, 0), (0, 5), (5, 0)] {
        let mut tensor = Tensor::<f32>::zeros(rows, cols).unwrap();
        assert!(tensor.to_vec().unwrap().is_empty());
        assert!(tensor.view_mut().unwrap().layout().is_empty());
        assert!(tensor.view().sub_rows(rows..rows).is_ok());
        assert!(matches!(tensor.get(0, 0), Err(TensorError::OutOfBounds { .. })));
        let stream = Device::host().default_stream().unwrap();
        assert!(tensor.to_device(&stream).unwrap().to_host(&stream).unwrap().to_vec().unwrap().is_empty());
    }
}

#[test]
fn a_stride_of_zero_repeats_what_is_read_and_is_refused_for_writing() {
    let mut tensor = ramp::<f32>(2, 3);
    let thrice = tensor.view().repeated(3).unwrap();
    assert_eq!(thrice.batch(), 3);
    assert_eq!(thrice.get_in(2, 1, 1), tensor.get(1, 1));

    let bias = [1.0f32, 2.0, 3.0];
    let rows = Strided { extents: [1, 4, 3], strides: [0, 0, 1] };
    let broadcast = TensorView::from_slice_in(rows, &bias).unwrap();
    assert_eq!(broadcast.get(3, 2), Ok(3.0));
    let mut memory = [0.0f32; 3];
    let error = TensorViewMut::from_slice_in(rows, &mut memory).unwrap_err();
    assert!(matches!(error, TensorError::Overlapping { .. }), "{error}");
    assert!(matches!(tensor.view().repeated(2).unwrap().repeated(2), Err(TensorError::OutOfBounds { .. })));
    assert!(tensor.view_mut().is_ok());
}

#[test]
fn operands_come_in_many_forms() {
    fn sum(operand: &(impl AsView<f32> + ?Sized)) -> f32 {
        operand.as_view().unwrap().to_vec().unwrap().iter().sum()
    }
    fn set(mut operand: impl AsViewMut<f32>) {
        operand.as_view_mut().unwrap().set(0, 1, 10.0).unwrap();
    }
    let (mut array, mut vector, mut tensor) = ([1.0f32, 2.0], vec![1.0f32, 2.0], ramp::<f32>(1, 2));
    assert_eq!(sum(&array), 3.0);
    assert_eq!(sum(&array[..]), 3.0);
    assert_eq!(sum(&vector), 3.0);
    assert_eq!(sum(&tensor), 1.0);
    assert_eq!(sum(&tensor.view()), 1.0);
    assert_eq!(sum(&&tensor), 1.0);
    set(&mut array);
    set(&mut vector);
    set(vector.as_mut_slice());
    set(&mut tensor);
    set(tensor.view_mut().unwrap());
    assert_eq!((array[1], vector[1], tensor.get(0, 1).unwrap()), (10.0, 10.0, 10.0));
    let view = vector.as_view().unwrap();
    assert_eq!((view.rows(), view.cols()), (1, 2));
}

#[test]
fn wrong_shapes_are_errors_with_the_numbers_in_them() {
    let short = Tensor::from_vec(3, 4, vec![0f32; 11]).unwrap_err();
    assert_eq!(
        short.to_string(),
        "11 elements do not hold 1 × 3 × 4, which reaches over 12: give 12, or smaller extents or strides"
    );
    let leading = Strided::padded(3, 4, Order::RowMajor, 3).unwrap_err();
    assert!(matches!(leading, TensorError::LeadingDimension { given: 3, needed: 4, line: "row" }));
    let negative = Strided { extents: [1, 2, 2], strides: [0, -2, 1] };
    assert_eq!(Tensor::<f32>::zeros_in(negative).unwrap_err(), TensorError::NegativeStride { stride: -2 });
    for huge in [Strided::dense(usize::MAX, 2, Order::RowMajor), Strided::dense(1 << 32, 1 << 32, Order::ColumnMajor)] {
        assert!(matches!(Tensor::<f32>::zeros_in(huge).unwrap_err(), TensorError::TooLarge { .. }));
    }
    let large = Tensor::<f64>::zeros(1 << 40, 1 << 19).unwrap_err();
    assert!(matches!(large, TensorError::Memory(_)), "{large}");
    assert!(ramp::<f32>(2, 2).view().sub_rows(1..3).is_err());
    #[allow(clippy::reversed_empty_ranges, reason = "a caller may pass one")]
    let reversed = ramp::<f32>(2, 2).view().sub_rows(2..1).map(drop);
    assert!(reversed.is_err());
    let (error, tensor) = (ramp::<f32>(2, 2).get(2, 0).unwrap_err(), ramp::<e4m3>(2, 2));
    assert_eq!(error.to_string(), "row 2 is beyond the extent 2");
    assert!(matches!(TensorView::<f32>::from_raw(tensor.view().raw()), Err(TensorError::WrongType { .. })));
}

#[test]
fn the_host_is_a_device_too() {
    let stream = Device::host().new_stream().unwrap();
    let tensor = ramp::<bf16>(5, 7);
    let copy = tensor.to_device(&stream).unwrap();
    assert_eq!((copy.space(), copy.layout()), (Space::Host, tensor.layout()));
    assert_eq!(copy.to_host(&stream).unwrap().to_vec().unwrap(), tensor.to_vec().unwrap());
    let part = tensor.view().sub_cols(1..3).unwrap().to_device(&stream).unwrap();
    assert_eq!(part.get(4, 1), tensor.get(4, 2));

    let mut poisoned = Tensor::<f32>::zeros_on(&stream, Strided::padded(2, 3, Order::RowMajor, 4).unwrap()).unwrap();
    poisoned.fill_bytes(&stream, 0xff).unwrap();
    assert!(poisoned.to_vec().unwrap().iter().all(|x| x.is_nan()));
    assert!(tensor.into_cuda_slice().is_err());
}

proptest! {
    #[test]
    fn what_is_called_injective_is(
        extents in [1usize..5, 1..5, 1..5], strides in [0i64..30, 0..30, 0..30]
    ) {
        let layout = Strided { extents, strides };
        let mut places = std::collections::HashSet::new();
        let mut distinct = true;
        for b in 0..extents[0] {
            for m in 0..extents[1] {
                for n in 0..extents[2] {
                    distinct &= places.insert(layout.offset(b, m, n));
                }
            }
        }
        prop_assert!(!layout.is_injective() || distinct);
        prop_assert_eq!(layout.span(warpwright_numeric::Dtype::F32).unwrap(), places.iter().max().unwrap() + 1);
    }

    #[test]
    fn packed_neighbours_stay(rows in 1usize..4, cols in 1usize..9, at in any::<prop::sample::Index>(), value in 0u8..64) {
        let mut tensor = Tensor::<e3m2>::from_fn(rows, cols, |m, n| e3m2::from_bits(((m * 9 + n) % 64) as u8)).unwrap();
        let mut expected = tensor.to_vec().unwrap();
        let at = at.index(rows * cols);
        // Minus zero, of the type's 64 codes, is the only one that a value does not tell.
        prop_assume!(value != 0x20);
        expected[at] = e3m2::from_bits(value);
        tensor.set(at / cols, at % cols, e3m2::from_bits(value)).unwrap();
        prop_assert_eq!(tensor.to_vec().unwrap(), expected);
    }
}

#[test]
fn a_tensor_takes_over_values_of_an_equal_layout_only() {
    let stream = Device::host().default_stream().unwrap();
    let source = Tensor::<f32>::from_fn(3, 4, |m, n| (10 * m + n) as f32).unwrap();
    let mut target = Tensor::<f32>::zeros(3, 4).unwrap();
    target.copy_from(&stream, &source).unwrap();
    assert_eq!(target.to_vec().unwrap(), source.to_vec().unwrap());
    let refused = target.copy_from(&stream, &Tensor::column_major(3, 4).unwrap()).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the source has extents [1, 3, 4] with strides [12, 1, 3] and this tensor has [1, 3, 4] with [12, 4, 1]: copy between equal layouts"
    );
}
