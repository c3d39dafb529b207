# An image with nothing in it but the server and the certificate authorities of the web, with
# which it verifies OpenID Connect issuers and webhooks. `make image` builds it.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN make release && mkdir /data && chmod 0700 /data

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /src/bin/miniapiserver /miniapiserver
COPY --from=build --chown=65532:65532 /data /data
USER 65532:65532
VOLUME /data
EXPOSE 6443
HEALTHCHECK --interval=5s --start-period=30s CMD ["/miniapiserver", "health", "--data-dir=/data"]
ENTRYPOINT ["/miniapiserver", "--data-dir=/data", "--bind-address=0.0.0.0", "--secure-port=6443"]
