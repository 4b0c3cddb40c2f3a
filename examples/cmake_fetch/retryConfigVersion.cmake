# The version is retry.h's. Another of the same major number is compatible, if it is not older.
foreach(folder ../../../include ../../include ../..)
  if(EXISTS "${CMAKE_CURRENT_LIST_DIR}/${folder}/retry.h")
    file(STRINGS "${CMAKE_CURRENT_LIST_DIR}/${folder}/retry.h" retry_NUMBERS
      REGEX "^#define RETRY_VERSION_(MAJOR|MINOR|PATCH) ")
    break()
  endif()
endforeach()
string(REGEX REPLACE "#define [A-Z_]+ " "" retry_NUMBERS "${retry_NUMBERS}")
string(REPLACE ";" "." PACKAGE_VERSION "${retry_NUMBERS}")
list(GET retry_NUMBERS 0 retry_MAJOR)
if(NOT PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION
    AND PACKAGE_FIND_VERSION_MAJOR STREQUAL retry_MAJOR)
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
  if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
    set(PACKAGE_VERSION_EXACT TRUE)
  endif()
endif()
