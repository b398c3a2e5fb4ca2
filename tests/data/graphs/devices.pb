
<
xPlaceholder"/job:localhost*
dtype0*
shape:
4
ySquarex"/job:localhost/device:CPU:0*
T0
G
zNegy"/job:localhost/device:CPU:0*
T0*
_class

loc:@y"ª