from conan import ConanFile
from conan.tools.cmake import CMake
from conan.tools.files import rename
from conan.tools.scm import Git
import os


class RetryConan(ConanFile):
    name = "retry"
    version = "5.0.0"
    description = "Decides whether, when and how often to try again"
    homepage = url = "https://git.example/retry"
    license = "MIT"
    topics = ("retry", "backoff", "jitter", "circuit-breaker", "header-only")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    generators = "CMakeToolchain"

    def source(self):
        git = Git(self)
        git.clone("https://git.example/retry.git", target=".")
        git.checkout(f"v{self.version}")

    def build(self):
        CMake(self).configure(build_script_folder="examples/cmake_fetch")

    def package(self):
        CMake(self).install()
        rename(self, os.path.join(self.package_folder, "share", "doc", "retry"),
               os.path.join(self.package_folder, "licenses"))

    def package_id(self):
        self.info.clear()  # headers alone: one package for all settings

    def package_info(self):
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []
