# vx-serve in a container, of the Debian packages that a build makes. Two images:
#
#   docker build -t vx-serve .                            # CPU, Vulkan and CUDA
#   docker build --target rocm -t vx-serve:rocm .         # CPU and ROCm
#   docker run -p 127.0.0.1:8080:8080 -v ~/models:/models:ro -v ./keys:/etc/vx/keys:ro vx-serve
#
# gRPC is off until a port is given: -e VX_SERVER__GRPC_PORT=8001 -p 127.0.0.1:8001:8001.
#
# The file of keys (docs/serving.md) is of mode 0600 and of user 1000. GPUs: --gpus all for CUDA, whose driver comes from the host. --device
# /dev/dri for Vulkan, and --device /dev/kfd --device /dev/dri for ROCm, each with --group-add of the host's groups of these devices.
# test/package/run_image.py runs each RUN line in new roots.
FROM debian:12 AS build
WORKDIR /src
COPY scripts/setup scripts/usage.sh scripts/
RUN scripts/setup
COPY . .
RUN scripts/build release && cd build && cpack -G DEB -B /packages

# gRPC's library for the images: that of Debian 12 needs libraries that Debian 13 does not have.
FROM debian:13 AS grpc
WORKDIR /src
COPY scripts/setup scripts/usage.sh scripts/
RUN scripts/setup --runtime && apt-get install -y --no-install-recommends libgrpc++-dev
COPY . .
RUN cmake --preset runtime-only -DVX_BUILD_TESTS=OFF -DCMAKE_SKIP_INSTALL_ALL_DEPENDENCY=ON && \
    cmake --build build/runtime-only --target vx_grpc && \
    cd build/runtime-only && cpack -G DEB -D CPACK_COMPONENTS_ALL=grpc -B /packages

# Both images: Debian 13, since ROCm of Debian 12 is older than vx needs. Packages of Debian 12 can be installed there.
FROM debian:13 AS server
RUN --mount=from=build,source=/packages,target=/packages \
    --mount=from=grpc,source=/packages,target=/grpc-packages \
    apt-get update && \
    apt-get install -y --no-install-recommends curl libpcre2-8-0 \
      /packages/libvx-runtime0_*.deb /packages/libvx-image0_*.deb /packages/libvx-train0_*.deb /packages/libvx-serve0_*.deb \
      /packages/libvx-compiler0_*.deb /packages/vx-tools_*.deb /packages/vx-compiler_*.deb /packages/vx-server_*.deb \
      /grpc-packages/libvx-grpc0_*.deb && \
    rm -rf /var/lib/apt/lists/*
RUN install -d -o 1000 -g 1000 /var/cache/vx
ENV VX_MODEL_DIR=/models VX_CACHE=/var/cache/vx VX_SERVER__HOST=0.0.0.0 VX_SERVER__API_KEYS_FILE=/etc/vx/keys
EXPOSE 8080
HEALTHCHECK --start-period=600s CMD curl -fsS http://127.0.0.1:8080/api/v1/health
ENTRYPOINT ["vx-serve"]

FROM server AS rocm
RUN apt-get update && apt-get install -y --no-install-recommends libamdhip64-5 && rm -rf /var/lib/apt/lists/*
USER 1000

# The last stage is what a build without --target makes. NVIDIA's container toolkit brings the drivers of CUDA and Vulkan that this names.
FROM server AS gpu
RUN apt-get update && apt-get install -y --no-install-recommends libvulkan1 mesa-vulkan-drivers && rm -rf /var/lib/apt/lists/*
ENV NVIDIA_DRIVER_CAPABILITIES=compute,utility,graphics
USER 1000
