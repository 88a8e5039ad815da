# Completion of climg for bash. Made by climg --generate=completion; changes belong in its source.

_climg_words()
{
    case $1 in
    convolve,normalize) echo yes no ;;
    mosaic) echo magnitude phase real imaginary ;;
    scale) echo 2 4 8 1/2 1/4 1/8 ;;
    scale,filter) echo bicubic bilinear bspline nearest ;;
    scale,antialias) echo yes no ;;
    scale,grid) echo centers corners ;;
    wavelet,biort) echo near_sym_a near_sym_b legall antonini ;;
    wavelet,qshift) echo qshift_a qshift_06 qshift_b qshift_c qshift_d ;;
    memory) echo auto buffer image ;;
    device) echo auto gpu cpu all ;;
    timing) echo table json ;;
    edge) echo clamp mirror wrap zero ;;
    format) echo pam pfm pgm pnm ppm png tif tiff ;;
    depth) echo 8 16 float ;;
    compression) echo none fast default best ;;
    shard) echo auto ;;
    progress) echo auto always never ;;
    help) echo blur convolve denoise gain gradient inverse-wavelet invert mosaic scale sharpen shrink wavelet ;;
    esac
}

_climg_keys()
{
    case $1 in
    blur) echo truncate ;;
    convolve) echo normalize bias ;;
    denoise) echo levels ;;
    gain) echo ;;
    gradient) echo ;;
    inverse-wavelet) echo ;;
    invert) echo ;;
    mosaic) echo ;;
    scale) echo filter antialias grid ;;
    sharpen) echo sigma threshold ;;
    shrink) echo ;;
    wavelet) echo biort qshift ;;
    esac
}

_climg_needs_value()
{
    case $1 in
    --blur) echo blur ;;
    --convolve) echo convolve ;;
    --gain) echo gain ;;
    --scale) echo scale ;;
    --sharpen) echo sharpen ;;
    -m | --memory) echo memory ;;
    -d | --device) echo device ;;
    --trace) echo trace ;;
    --edge) echo edge ;;
    -f | --format) echo format ;;
    --depth) echo depth ;;
    --compression) echo compression ;;
    -j | --jobs) echo jobs ;;
    --page) echo page ;;
    -o | --output) echo output ;;
    --shard) echo shard ;;
    --report) echo report ;;
    --progress) echo progress ;;
    --memory-limit) echo memory-limit ;;
    --max-pixels) echo max-pixels ;;
    esac
}

_climg_options()
{
    echo --blur --convolve --denoise --gain --gradient --inverse-wavelet --invert --mosaic --scale --sharpen --shrink --wavelet --memory --device --list-devices --tune --timing --trace --edge --linear --format --depth --compression --strip --jobs --page --output --yes --in-place --recursive --resume --shard --report --progress --dry-run --memory-limit --max-pixels --quiet --verbose --help --version
}

# Candidates for PRIMARY[,KEY=VALUE]... of the stage or option $1, of which $2 is typed; $3 goes before
# each of them.
_climg_value()
{
    local name=$1 last=${2##*,} key
    local done=${2%"$last"} before=$3
    case $last in
    @*) compgen -f -P "$before$done@" -- "${last#@}" ;;
    *=*)
        key=${last%%=*}
        compgen -P "$before$done$key=" -W "$(_climg_words "$name,$key")" -- "${last#*=}"
        ;;
    *)
        [[ $done ]] || compgen -P "$before" -W "$(_climg_words "$name")" -- "$last"
        # A PRIMARY that is needed comes before the keys.
        [[ ! $done && $(_climg_needs_value "--$name") ]] && return
        for key in $(_climg_keys "$name"); do
            [[ ,$done == *",$key="* ]] || compgen -P "$before$done" -W "$key=" -- "$last"
        done
        ;;
    esac
}

_climg_files()
{
    local pattern
    for pattern in $(_climg_words format); do
        compgen -f -X "!*.$pattern" -- "$1"
        compgen -f -X "!*.${pattern^^}" -- "$1"
    done
    compgen -d -- "$1"
}

# Candidates for the argument $2, which stands after $1.
_climg_candidates()
{
    local name
    name=$(_climg_needs_value "$1")
    if [[ $name ]]; then
        _climg_value "$name" "$2" ''
    elif [[ $2 == --*=* ]]; then
        name=${2%%=*}
        _climg_value "${name#--}" "${2#*=}" "$name="
    elif [[ $2 == -* ]]; then
        compgen -W "$(_climg_options)" -- "$2"
    fi
}

_climg()
{
    local at=$COMP_CWORD piece=${COMP_WORDS[COMP_CWORD]} argument head IFS=$' \t\n'
    # Bash breaks arguments at = : and @, and completes the last piece. Here it is whole again;
    # no argument of climg begins with = or :, but one may with @.
    argument=$piece
    [[ $piece == [=:@] ]] && piece=
    while ((at > 1)) && [[ ${COMP_WORDS[at]} == [=:]* || ${COMP_WORDS[at - 1]} == *[=:@] ]]; do
        at=$((at - 1))
        argument=${COMP_WORDS[at]}$argument
    done
    head=${argument%"$piece"}
    mapfile -t COMPREPLY < <(_climg_candidates "${COMP_WORDS[at - 1]}" "$argument")
    if ((${#COMPREPLY[@]} == 0)) && [[ $argument != -* ]]; then
        mapfile -t COMPREPLY < <(_climg_files "$argument")
        compopt -o filenames 2>/dev/null
    fi
    COMPREPLY=("${COMPREPLY[@]#"$head"}")
    [[ ${COMPREPLY[0]-} != *= ]] || compopt -o nospace 2>/dev/null
}

complete -F _climg climg
