# retry::retry, by find_package and by FetchContent: the headers are where they were installed, where vcpkg
# has moved this file, or in the repository.
if(NOT TARGET retry::retry)
  foreach(folder ../../../include ../../include ../..)
    if(EXISTS "${CMAKE_CURRENT_LIST_DIR}/${folder}/retry.h")
      get_filename_component(retry_INCLUDE_DIRS "${CMAKE_CURRENT_LIST_DIR}/${folder}" ABSOLUTE)
      break()
    endif()
  endforeach()
  if(NOT CMAKE_CROSSCOMPILING)
    find_path(retry_JSMN_INCLUDE_DIR jsmn.h)
  endif()
  if(retry_JSMN_INCLUDE_DIR)
    list(APPEND retry_INCLUDE_DIRS "${retry_JSMN_INCLUDE_DIR}")
  endif()
  add_library(retry::retry INTERFACE IMPORTED GLOBAL)
  set_property(TARGET retry::retry PROPERTY
    INTERFACE_INCLUDE_DIRECTORIES "${retry_INCLUDE_DIRS}")
endif()
