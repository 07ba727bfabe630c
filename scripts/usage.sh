# The help of the scripts in this folder, from their header comment. Sourced by them: . "$(dirname "$0")/usage.sh"

# check_usage MOST ARGUMENT...: where --help or -h is among the arguments, prints the comment at the head of the script and exits with 0. Exits with 2
# where a flag is one that the comment does not name, or where there are more than MOST arguments that are no flags ("any": no limit).
check_usage() {
  local most=$1 argument flag operands=0 text
  shift
  text=$(sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0")
  for argument; do
    case $argument in
      -h | --help) printf '%s\n' "$text"; exit 0 ;;
      -[A-Za-z-]*)
        flag=${argument%%=*}
        # Not in the middle of another flag.
        grep -qE -- "(^|[^A-Za-z0-9-])$flag([^A-Za-z0-9-]|\$)" <<<"$text" || refuse_usage "$argument"
        ;;
      *)
        operands=$((operands + 1))
        [ "$most" = any ] || [ "$operands" -le "$most" ] || refuse_usage "$argument"
        ;;
    esac
  done
}

refuse_usage() { # argument
  echo "${0##*/}: error: unknown argument '$1'; see --help" >&2
  exit 2
}
