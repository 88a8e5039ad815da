// One picture, or a folder of them, through a chain of stages: ext.args holds the stages, ext.suffix another format.
process CLIMG {
    tag "$meta.id"
    label 'process_medium'

    conda "${moduleDir}/environment.yml"
    container "climg:0.2.0"
    containerOptions { task.accelerator ? '--gpus all' : '' }

    input:
    tuple val(meta), path(image)

    output:
    tuple val(meta), path("out/*")      , emit: image
    tuple val(meta), path("*.jsonl")    , emit: report
    path "versions.yml"                 , emit: versions

    when:
    task.ext.when == null || task.ext.when

    script:
    def args   = task.ext.args ?: '--denoise'
    def prefix = task.ext.prefix ?: "${meta.id}"
    def format = task.ext.suffix ? "-f ${task.ext.suffix}" : ''
    def device = task.accelerator ? 'gpu' : 'auto'
    """
    climg -q --device $device --jobs $task.cpus $image $args $format --report ${prefix}.jsonl -o out/

    cat <<-END_VERSIONS > versions.yml
    "${task.process}":
        climg: \$(climg --version | sed -n '1s/^climg //p')
    END_VERSIONS
    """

    stub:
    def prefix = task.ext.prefix ?: "${meta.id}"
    """
    mkdir out
    touch out/$image ${prefix}.jsonl

    cat <<-END_VERSIONS > versions.yml
    "${task.process}":
        climg: 0.2.0
    END_VERSIONS
    """
}
