from gpu_fabric.program import main

main()
