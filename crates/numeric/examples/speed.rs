use warpwright_numeric::*; use std::time::Instant;
fn t<T: Element>() { let n=1<<20; let x: Vec<f32> = (0..n).map(|i| ((i*7919)%1000) as f32 * 0.37 - 180.0).collect();
 let mut d=vec![T::default(); n]; let mut y=vec![0f32;n];
 let mut b=[f64::MAX;3];
 for _ in 0..5 { let s=Instant::now(); T::from_f32_slice(&x,&mut d); b[0]=b[0].min(s.elapsed().as_secs_f64());
 let s=Instant::now(); T::to_f32_slice(&d,&mut y); b[1]=b[1].min(s.elapsed().as_secs_f64());
 let s=Instant::now(); std::hint::black_box(pack(&d)); b[2]=b[2].min(s.elapsed().as_secs_f64()); }
 println!("{:5} from {:.2} to {:.2} pack {:.2} ns/el", T::DTYPE, b[0]*1e9/n as f64,b[1]*1e9/n as f64,b[2]*1e9/n as f64); std::hint::black_box((d,y)); }
fn main(){ t::<f32>();t::<tf32>();t::<f16>();t::<bf16>();t::<e4m3>();t::<e5m2>();t::<e2m1>();t::<e2m3>();t::<e8m0>();t::<i8>();t::<i32>();t::<i4>(); }
