# vx-serve in a container, of the Debian packages that a build makes.
#
#   docker build -t vx-serve .
#   docker run -p 127.0.0.1:8080:8080 -v ~/models:/models:ro -v ./keys:/etc/vx/keys:ro vx-serve
#
# The file of keys (docs/serving.md) is of mode 0600 and of user 1000. GPUs: --device /dev/dri for Vulkan, beside it --device /dev/kfd for
# ROCm, with --group-add of the host's groups of these devices; --gpus all for CUDA. Where there are several kinds, VX_DEVICE_ORDER
# says which goes first.
# Its sources have LLVM 22.1.
FROM debian:12 AS build
WORKDIR /vx
COPY scripts/setup scripts/usage.sh scripts/
RUN scripts/setup
COPY . .
RUN scripts/build release && cd build && cpack -G DEB -B /packages

FROM debian:12
RUN --mount=from=build,source=/packages,target=/packages \
    apt-get update && \
    apt-get install -y --no-install-recommends curl libvulkan1 mesa-vulkan-drivers libpcre2-8-0 \
      /packages/libvx-runtime0_*.deb /packages/libvx-image0_*.deb /packages/libvx-train0_*.deb /packages/libvx-serve0_*.deb \
      /packages/libvx-compiler0_*.deb /packages/vx-tools_*.deb /packages/vx-compiler_*.deb /packages/vx-server_*.deb && \
    rm -rf /var/lib/apt/lists/*
RUN install -d -o 1000 -g 1000 /var/cache/vx
USER 1000
ENV VX_MODEL_DIR=/models VX_CACHE=/var/cache/vx VX_SERVER__HOST=0.0.0.0 VX_SERVER__API_KEYS_FILE=/etc/vx/keys
EXPOSE 8080
HEALTHCHECK --start-period=600s CMD curl -fsS http://127.0.0.1:8080/api/v1/health
ENTRYPOINT ["vx-serve"]
