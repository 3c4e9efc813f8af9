main "$@" </dev/null
exit $?
