set(VCPKG_BUILD_TYPE release) # headers alone
vcpkg_from_git(
  OUT_SOURCE_PATH SOURCE_PATH
  URL https://git.example/retry.git
  REF 0000000000000000000000000000000000000000)
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}/examples/cmake_fetch")
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH share/cmake/retry)
vcpkg_fixup_pkgconfig()
vcpkg_install_copyright(FILE_LIST "${CURRENT_PACKAGES_DIR}/share/doc/retry/copyright")
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/share/doc" "${CURRENT_PACKAGES_DIR}/share/cmake")
