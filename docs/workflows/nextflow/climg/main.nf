// One picture, or a folder of them, through a chain of stages: ext.args holds the stages and options, such as '--denoise -f png'.
process CLIMG {
    tag "$meta.id"
    label 'process_medium'

    conda "${moduleDir}/environment.yml"
    container "climg:0.2.0"
    // Only a task with an accelerator is given the host's GPUs, and each engine has an option of its own for that.
    containerOptions {
        task.accelerator ? (workflow.containerEngine in ['singularity', 'apptainer'] ? '--nv' : '--gpus all') : ''
    }

    input:
    tuple val(meta), path(image)

    output:
    tuple val(meta), path("out/*")  , emit: image
    tuple val(meta), path("*.jsonl"), emit: report
    tuple val("${task.process}"), val('climg'), eval("climg --version | sed -n '1s/^climg //p'"), emit: versions_climg, topic: versions

    when:
    task.ext.when == null || task.ext.when

    script:
    def args   = task.ext.args ?: ''
    def prefix = task.ext.prefix ?: "${meta.id}"
    def device = task.accelerator ? 'gpu' : 'auto'
    """
    climg \\
        -q \\
        --device $device \\
        --jobs $task.cpus \\
        $image \\
        $args \\
        --report ${prefix}.jsonl \\
        -o out/
    """

    stub:
    def prefix = task.ext.prefix ?: "${meta.id}"
    """
    mkdir out
    touch out/$image ${prefix}.jsonl
    """
}
