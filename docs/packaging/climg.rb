# Homebrew on Linux: `make dist`, then `brew install --build-from-source docs/packaging/climg.rb`.
class Climg < Formula
  desc "Filter, scale and take apart images with OpenCL"
  version "0.2.0"
  url "file://#{File.expand_path("../../build/climg-#{version}.tar.gz", __dir__)}"
  license "MIT"

  depends_on "opencl-headers" => :build
  depends_on "pkgconf" => :build
  depends_on "isa-l"
  depends_on "jansson"
  depends_on "jpeg-turbo"
  depends_on "libpng"
  depends_on "libtiff"
  depends_on "little-cms2"
  depends_on :linux
  depends_on "opencl-icd-loader"
  depends_on "pocl"
  depends_on "webp"
  depends_on "zlib"

  def install
    system "make"
    system "make", "install", "PREFIX=#{prefix}", "WARM=no"
  end

  test do
    (testpath/"in.pgm").write("P2 2 1 255 0 255\n")
    system bin/"climg", "in.pgm", "--invert", "out.pgm"
    assert_path_exists testpath/"out.pgm"
  end
end
